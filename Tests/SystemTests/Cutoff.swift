import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// One publisher and one recorder after the other, all on the same sockets and in the same directory: what a machine sees
/// whose recorder is killed and started again.
struct Cutoff: Sendable {
    let directory: FilePath
    let recorderEndpoint: ProgramReady
    let publisherEndpoint: ProgramReady
    /// Asks the publisher.
    let streams: RequestClient
    /// Asks whichever recorder runs.
    let recordings: RequestClient
    let context: Context
    let thread: SocketThread

    /// Finds free sockets for both programs.
    static func run(_ body: @Sendable (Cutoff) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let publisher = try await freeSockets(
                "sensor-publisher", in: directory, ["--signal", "sine", "--device", "d"])
            let recorder = try await freeSockets(
                "recorder", in: directory, ["--data", directory.appending("unused").string])
            try await body(
                Cutoff(
                    directory: directory, recorderEndpoint: recorder, publisherEndpoint: publisher,
                    streams: RequestClient(context: context, thread: thread, endpoint: publisher.reply),
                    recordings: RequestClient(context: context, thread: thread, endpoint: recorder.reply),
                    context: context, thread: thread))
        }
    }

    /// Where a program can listen: ports below those that the system gives to whoever asks for any, so that nobody else gets
    /// them between two runs. It ends at once, so that another one may listen there.
    private static func freeSockets(
        _ program: String, in directory: FilePath, _ arguments: [String]
    ) async throws -> ProgramReady {
        for _ in 0..<20 {
            let endpoints = (0..<2).map { _ in "tcp://127.0.0.1:\(Int.random(in: 10_000..<32_000))" }
            let ready = try? await ProgramUnderTest.run(
                program, arguments: ["--publish", endpoints[0], "--reply", endpoints[1]] + arguments, in: directory
            ) { program in
                let ready = try await program.ready()
                try program.send(.kill)
                _ = try await program.end()
                return ready
            }
            if let ready { return ready }
        }
        throw TestFailure("there are no free ports")
    }

    /// Runs the publisher.
    func publisher<Result: Sendable>(
        _ arguments: [String], _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        try await ProgramUnderTest.run(
            "sensor-publisher",
            arguments: ["--publish", publisherEndpoint.publish, "--reply", publisherEndpoint.reply] + arguments,
            in: directory
        ) { program in
            _ = try await program.ready()
            return try await body(program)
        }
    }

    /// Runs a recorder.
    func recorder<Result: Sendable>(
        _ arguments: [String] = [], _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        try await ProgramUnderTest.run(
            "recorder",
            arguments: [
                "--publish", recorderEndpoint.publish, "--reply", recorderEndpoint.reply, "--data", directory.string,
                "--subscribe", publisherEndpoint.publish,
            ] + arguments, in: directory
        ) { program in
            _ = try await program.ready()
            return try await body(program)
        }
    }

    /// Kills a recorder: nothing more is done by it.
    func kill(_ program: ProgramUnderTest) async throws {
        try program.send(.kill)
        #expect(try await program.end() == .killed(by: 9))
    }

    /// Starts a session.
    func start(_ request: RecordingStart) async throws {
        let reply = try await recordings.send(request, timeout: .seconds(10))
        #expect(reply.status == "running")
    }

    /// Waits until a session has so many more samples than it has now, in each of its logs.
    func more(_ count: Int, in session: String) async throws {
        let before = try await samples(of: session)
        try await eventually("\(count) more samples") {
            let now = try await samples(of: session)
            return !now.isEmpty && now.allSatisfy { $0.value >= before[$0.key, default: 0] + count }
        }
    }

    private func samples(of session: String) async throws -> [String: Int] {
        let logs = try await recordings.send(RecordingStatus(session: session), timeout: .seconds(10)).logs
        return Dictionary(uniqueKeysWithValues: logs.map { ($0.name, $0.samples) })
    }

    /// Ends a session.
    func stop(_ session: String, with client: RequestClient? = nil) async throws -> RecordingResult {
        try await (client ?? recordings).send(RecordingStop(session: session), timeout: .seconds(30))
    }

    /// Asks the recorder beside `recordings`, since one socket takes one request at a time.
    func otherRequests() throws -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: recorderEndpoint.reply)
    }

    /// The records of a log, over all its files.
    func records(of log: RecordingResult.Log, in result: RecordingResult) throws -> [LogItem] {
        try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
    }
}
