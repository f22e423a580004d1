import FoundationEssentials
import MessageBus
import Messages
import Synchronization
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The commands for a session's directory, and their exit codes and output.
@Suite(.timeLimit(.minutes(5)))
struct SessionCommandTests {
    @Test func aSessionIsVerifiedShownAndRecovered() async throws {
        try await Rig.run(
            publishing: ["--signal", "noise:seed=1", "--rate", "200", "--batch", "5", "--device", "phone"]
        ) { rig in
            try await rig.start(RecordingStart(session: "walk", task: "Walk", streams: ["phone/"]))
            let directory = rig.directory.appending("recordings/walk")
            try await eventually("samples are recorded") {
                let state = try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
                return state.logs.contains { $0.samples > 20 }
            }
            // A copy made during the session is like the result of a crash.
            let copy = rig.directory.appending("copy")
            // Files may appear and disappear meanwhile.
            try await eventually("a copy") {
                try? FileManager.default.removeItem(atPath: copy.string)
                return (try? FileManager.default.copyItem(atPath: directory.string, toPath: copy.string)) != nil
            }
            let result = try await rig.stop("walk")

            let whole = try await Self.recorder("verify", directory.string)
            #expect(whole.end == .exited(0), "\(whole)")
            #expect(whole.output.hasSuffix(": whole\n"))

            let cut = try await Self.recorder("recover", copy.string)
            #expect(cut.end == .exited(3), "\(cut)")
            #expect(cut.output.hasPrefix("recovered to \(copy)-recovered\n"))
            #expect(try await Self.recorder("verify", "\(copy)-recovered").end == .exited(3))
            #expect(try await Self.recorder("recover", copy.string).end == .exited(1))

            let info = try await Self.recorder("info", "--format", "json", directory.string)
            let document = try JSONDecoder().decode(Info.self, from: Data(info.output.utf8))
            #expect(document.status == "finished")
            #expect(document.streams.map(\.samples) == result.logs.map(\.samples))
            #expect(try await Self.recorder("info", directory.string).output.contains("phone/accelerometer"))

            let file = try rig.onlyFile(of: result)
            var bytes = try Data(contentsOf: URL(filePath: file.string))
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: file.string))
            let damaged = try await Self.recorder("verify", directory.string)
            #expect(damaged.end == .exited(1))
            #expect(damaged.output.contains("\(file.lastComponent?.string ?? ""): is not what SHA256SUMS says"))

            let missing = try await Self.recorder("verify", "/no/such/session")
            #expect(missing.end == .exited(1))
            #expect(missing.error.contains("/no/such/session"))
        }
    }

    /// The recorder does not answer when the key is pressed, and then is busy until the session is over.
    @Test func aKeyIsAnnotatedEvenIfTheSessionHasEndedMeanwhile() async throws {
        let start = WallTime.now.subtracting(60_000_000_000)
        let requests = Mutex<[RecordingAnnotate]>([])
        let isOver = Mutex(false)
        let (pressed, never) = (Gate(), Gate())
        var router = RequestRouter()
        router.on(RecordingStart.self) { _ in RecordingStart.Reply(session: "s", status: "running", logs: []) }
        router.on(RecordingStatus.self) { _ in
            var state = RecordingState(session: "s", status: "running", step: "", paused: false, logs: [])
            state.startDate = start
            return state
        }
        router.on(RecordingAnnotate.self) { request in
            let count = requests.withLock { requests in
                requests.append(request)
                return requests.count
            }
            pressed.open()
            if count == 1 { await never.pass() }
            guard isOver.withLock({ $0 }) else {
                throw RequestError(.busy, "session s is ending: ask again", retryAfter: 1)
            }
            let annotation = Annotation(
                number: 1, label: request.label, from: start.adding(3_500_000_000), date: .now)
            return RecordingAnnotate.Reply(session: "s", annotation: annotation)
        }
        router.on(RecordingStop.self) { _ in
            isOver.withLock { $0 = true }
            return Self.result(since: start)
        }
        try await Self.record(to: router, ["--label", "fall"]) { client in
            try await withTimeLimit(.seconds(50), "the request for an annotation") { await pressed.pass() }
            try client.send(.interrupt)
            #expect(try await client.end() == .exited(0), "\(client.standardError)")
            let line = "annotation 1 at 3.5 s: fall"
            #expect(client.standardOutput.contains(line), "\(client.standardOutput)")
            #expect(!client.standardError.contains("may be missing"))
        }
        let asked = requests.withLock { $0 }
        #expect(asked.count > 1)
        #expect(Set(asked).count == 1, "a repeated request has the time of the key")
    }

    /// Another machine took over, and its recorder has yet to continue the session.
    @Test func aSessionThatAnotherMachineContinuesLaterIsDrivenOn() async throws {
        let start = WallTime.now
        let refusals = Mutex(5)
        let stops = Mutex(0)
        let (moved, annotated) = (Gate(), Gate())
        let unknown = RequestError(.unknownSession, "there is no session s")
        let check: @Sendable () throws -> Void = {
            let isKnown = refusals.withLock { left in
                left -= 1
                return left < 0
            }
            if !isKnown { throw unknown }
        }
        let running: @Sendable (String) -> RecordingState = { step in
            RecordingState(session: "s", status: "running", step: step, paused: false, logs: [])
        }
        var router = RequestRouter()
        router.on(RecordingStart.self) { _ in RecordingStart.Reply(session: "s", status: "running", logs: []) }
        router.on(RecordingStatus.self) { _ in
            try check()
            return running("")
        }
        router.on(RecordingMoveTo.self) { request in
            try check()
            moved.open()
            return running(request.step ?? "")
        }
        router.on(RecordingAnnotate.self) { request in
            try check()
            annotated.open()
            let annotation = Annotation(number: 1, label: request.label, from: request.from ?? .now, date: .now)
            return RecordingAnnotate.Reply(session: "s", annotation: annotation)
        }
        router.on(RecordingStop.self) { _ in
            let count = stops.withLock { count in
                count += 1
                return count
            }
            if count == 1 { throw unknown }
            return Self.result(since: start)
        }
        try await Self.record(to: router, ["--label", "fall", "--move-to", "100ms=back"]) { client in
            try await withTimeLimit(.seconds(50), "the step") { await moved.pass() }
            try await withTimeLimit(.seconds(50), "the annotation") { await annotated.pass() }
            try client.send(.interrupt)
            #expect(try await client.end() == .exited(0), "\(client.standardError)")
            #expect(!client.standardOutput.contains("was not kept"), "\(client.standardOutput)")
            #expect(!client.standardError.contains("may be missing"))
        }
        let stopped = stops.withLock { $0 }
        #expect(stopped == 2)
    }

    /// Runs `recorder record` with a recorder that answers as a test says. The key 1 is pressed at once.
    private static func record(
        to router: RequestRouter, _ options: [String], _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: Context(),
            thread: SocketThread(name: "recorder"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await server.run() }
            defer { group.cancelAll() }
            let arguments = ["record", "--reply", server.endpoint, "--streams", "*"] + options
            try await ProgramUnderTest.run("recorder", arguments: arguments, input: Array("1".utf8), body)
        }
    }

    private static func result(since start: WallTime) -> RecordingResult {
        let report = SessionReport(
            session: "s", task: nil, status: "finished", startDate: start, endDate: .now, streams: [],
            commitLatency: SessionReport.Latency(count: 0, median: 0, p99: 0, maximum: 0), failures: [])
        return RecordingResult(session: "s", status: "finished", report: report, directory: "/s", logs: [])
    }

    private struct Info: Decodable {
        struct Stream: Decodable { var samples: Int }
        var status: String
        var streams: [Stream]
    }

    private static func recorder(
        _ arguments: String...
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await ProgramUnderTest.run("recorder", arguments: arguments) { program in
            let end = try await program.end()
            return (end, program.standardOutput, program.standardError)
        }
    }
}
