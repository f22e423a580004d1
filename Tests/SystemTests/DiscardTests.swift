import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Discarding a session removes a person's data from the whole data directory, with all real programs.
@Suite(.timeLimit(.minutes(3)))
struct DiscardTests {
    private static let person = "alice-liddell"

    /// The files under a directory whose path or contents include a word.
    private static func search(_ word: String, in data: FilePath) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: data.string).filter { path in
            if path.contains(word) { return true }
            // A file that disappears meanwhile has no contents.
            guard let bytes = FileManager.default.contents(atPath: data.appending(path).string) else { return false }
            return bytes.firstRange(of: Array(word.utf8)) != nil
        }
    }

    /// Runs an archiver and a log-manager on a recorder's data directory.
    private static func withOthers(
        of rig: Rig, receiver: FilePath, _ body: (_ archiver: RequestClient, LogKeeper) async throws -> Void
    ) async throws {
        let data = rig.directory.appending("data")
        try await LogKeeper.run(in: data, ["--subscribe", rig.recorderReady.publish, "--rescan-interval", "1s"]) {
            keeper in
            try await ProgramUnderTest.run(
                "archiver",
                arguments: [
                    "--data", data.string, "--subscribe", rig.recorderReady.publish, "--log-manager",
                    keeper.ready.reply, "--upload-to", "file://\(receiver)", "--rescan-interval", "1s",
                ] + ProgramUnderTest.anyPorts, in: data
            ) { archiver in
                let client = try RequestClient(
                    context: rig.context, thread: rig.thread, endpoint: try await archiver.ready().reply)
                try await body(client, keeper)
            }
        }
    }

    /// Records a session of the person, with answers and a photo.
    private static func record(_ session: String, with rig: Rig) async throws {
        try await rig.start(
            RecordingStart(session: session, task: "Walk", streams: ["*"], maximumFileSize: 4_000))
        try await eventually("some files") {
            try await rig.recordings.send(RecordingStatus(session: session), timeout: .seconds(60))
                .logs.contains { $0.samples >= 200 }
        }
        try "a picture of \(person)".write(
            toFile: rig.directory.appending("data/recordings/\(session)/photo.jpg").string, atomically: true,
            encoding: .utf8)
        let answers = JSONValue.object([
            "stepHistory": .array([.object(["identifier": .string("name"), "value": .string(person)])])
        ])
        let result = try await rig.recordings.send(
            RecordingStop(session: session, results: answers), timeout: .seconds(60))
        #expect(result.status == "finished")
    }

    private static let signal = ["--signal", "sine", "--device", "phone", "--stream", "gyro", "--rate", "500"]

    @Test func nothingOfAPersonIsLeftAfterTheReceiptAndADiscard() async throws {
        try await Rig.run(publishing: Self.signal, dataIn: "data") { rig in
            let data = rig.directory.appending("data")
            let receiver = rig.directory.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            try await Self.withOthers(of: rig, receiver: receiver) { archiver, keeper in
                // Another session continues, and needs the part of the write-ahead log that has this one's samples.
                try await rig.start(RecordingStart(session: "other", streams: ["phone/"]))
                try await Self.record(Self.person, with: rig)
                try await eventually("the receipt and its marks") {
                    try await archiver.send(ArchiveList(), timeout: .seconds(60)).archives
                        .contains { $0.session == Self.person && $0.state == .marked }
                }
                #expect(try Self.search(Self.person, in: data).count > 4)
                let reply = try await rig.recordings.send(
                    RecordingDiscard(session: Self.person), timeout: .seconds(60))
                #expect(reply.isComplete)
                #expect(reply.uploaded != nil)
                try await eventually("nothing is left of the person") {
                    try Self.search(Self.person, in: data).isEmpty
                }
                let files = try await keeper.paths()
                #expect(!files.contains { $0.contains(Self.person) })
                #expect(try await rig.stop("other").report.isWhole)
            }
            let log = try String(
                contentsOfFile: data.appending("recordings/discarded.ndjson").string, encoding: .utf8)
            #expect(log.split(separator: "\n").count == 1)
        }
    }

    @Test func programsThatWereAwayRemoveTheirPartWhenTheyStart() async throws {
        // The device, and so its logs, have the person's name too.
        let signal = ["--signal", "sine", "--device", "\(Self.person)-wrist", "--stream", "gyro", "--rate", "500"]
        try await Rig.run(publishing: signal, dataIn: "data") { rig in
            let data = rig.directory.appending("data")
            let receiver = rig.directory.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            try await Self.withOthers(of: rig, receiver: receiver) { archiver, _ in
                try await Self.record(Self.person, with: rig)
                try await eventually("the receipt") {
                    try await archiver.send(ArchiveList(), timeout: .seconds(60)).archives
                        .contains { $0.session == Self.person && $0.state == .marked }
                }
            }
            // With the command, as people use it.
            let end = try await ProgramUnderTest.run(
                "recorder",
                arguments: ["discard", Self.person, "--reply", rig.recorderReady.reply], in: rig.directory
            ) { try await $0.end() }
            #expect(end == .exited(0))
            let left = try Self.search(Self.person, in: data)
            #expect(!left.isEmpty)
            #expect(left.allSatisfy { $0.hasPrefix("archives/") || $0.hasPrefix("catalog/") }, "\(left)")
            try await Self.withOthers(of: rig, receiver: receiver) { _, _ in
                try await eventually("nothing is left of the person") {
                    try Self.search(Self.person, in: data).isEmpty
                }
            }
        }
    }

    @Test func stepsOfADiscardedSessionGo() async throws {
        let walk = ["--signal", "walk:cadence=1.8", "--device", "wrist", "--rate", "100"]
        try await Rig.run(publishing: walk, dataIn: "data") { rig in
            let options = ["--data", rig.directory.appending("data").string] + ProgramUnderTest.anyPorts
            try await ProgramUnderTest.run(
                "step-counter",
                arguments: options + [
                    "--subscribe", rig.publisherReady.publish, "--recorder", rig.recorderReady.publish,
                ], in: rig.directory
            ) { counter in
                let steps = try RequestClient(
                    context: rig.context, thread: rig.thread, endpoint: try await counter.ready().reply)
                func count(_ from: WallTime, _ to: WallTime) async throws -> Int {
                    try await steps.send(StepsQuery(device: "wrist", from: from, to: to), timeout: .seconds(60))
                        .numberOfSteps
                }
                try await rig.start(RecordingStart(session: Self.person, task: "Walk", streams: ["*"]))
                let state = try await rig.recordings.send(
                    RecordingStatus(session: Self.person), timeout: .seconds(60))
                let begin = try #require(state.startDate)
                try await eventually("steps in the session") { try await count(begin, .now) > 3 }
                let end = try await rig.stop(Self.person).report.endDate
                #expect(try await count(begin, end) > 0)
                _ = try await rig.recordings.send(
                    RecordingDiscard(session: Self.person, force: true), timeout: .seconds(60))
                try await eventually("its steps are gone") { try await count(begin, end) == 0 }
                // Later steps are still counted.
                try await eventually("steps after it") { try await count(end, .now) > 0 }
            }
        }
    }

    @Test func aSessionThatWasNotUploadedNeedsForce() async throws {
        try await Rig.run(publishing: Self.signal, dataIn: "data") { rig in
            let data = rig.directory.appending("data")
            try await Self.record(Self.person, with: rig)
            func discard(_ options: [String]) async throws -> ProgramEnd {
                try await ProgramUnderTest.run(
                    "recorder",
                    arguments: ["discard", Self.person, "--reply", rig.recorderReady.reply] + options,
                    in: rig.directory
                ) { try await $0.end() }
            }
            #expect(try await discard([]) != .exited(0))
            #expect(!(try Self.search(Self.person, in: data).isEmpty))
            #expect(try await discard(["--force"]) == .exited(0))
            #expect(try Self.search(Self.person, in: data).isEmpty)
        }
    }

    /// The moments of the kills depend on the machine: the test must hold at any of them.
    @Test func aRecorderThatIsKilledWhileItDiscardsFinishesAtItsNextStart() async throws {
        try await Rig.run(publishing: Self.signal, dataIn: "data") { rig in
            let data = rig.directory.appending("data")
            try await Self.record(Self.person, with: rig)
            async let reply = try? rig.recordings.send(
                RecordingDiscard(session: Self.person, force: true), timeout: .milliseconds(500))
            try await eventually("the discard has begun") {
                try FileManager.default.contentsOfDirectory(atPath: data.appending("recordings").string)
                    .allSatisfy { $0 != Self.person }
            }
            try rig.recorder.send(.kill)
            #expect(try await rig.recorder.end() == .killed(by: 9))
            _ = await reply
            try await ProgramUnderTest.run(
                "recorder",
                arguments: ProgramUnderTest.anyPorts
                    + ["--data", data.string, "--subscribe", rig.publisherReady.publish], in: rig.directory
            ) { recorder in
                _ = try await recorder.ready()
                try await eventually("nothing is left of the person") {
                    try Self.search(Self.person, in: data).isEmpty
                }
                try await eventually("no directory is left") {
                    try FileManager.default.contentsOfDirectory(atPath: data.appending("recordings").string)
                        .allSatisfy { !$0.hasPrefix(".discarded") }
                }
            }
        }
    }
}
