import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// One publisher and successive recorders, on the same sockets and in the same directory, like a machine whose recorder is killed
/// and restarted.
struct Cutoff: Sendable {
    let directory: FilePath
    let recorderEndpoint: ProgramReady
    let publisherEndpoint: ProgramReady
    /// Sends requests to the publisher.
    let streams: RequestClient
    /// Sends requests to whichever recorder runs.
    let recordings: RequestClient
    let context: Context
    let thread: SocketThread

    static func run(_ body: @Sendable (Cutoff) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let publisher = try freeSockets(of: "sensor-publisher")
            let recorder = try freeSockets(of: "recorder")
            try await body(
                Cutoff(
                    directory: directory, recorderEndpoint: recorder, publisherEndpoint: publisher,
                    streams: RequestClient(context: context, thread: thread, endpoint: publisher.reply),
                    recordings: RequestClient(context: context, thread: thread, endpoint: recorder.reply),
                    context: context, thread: thread))
        }
    }

    /// Endpoints for a program: ports that no other process gets between two runs.
    private static func freeSockets(of program: String) throws -> ProgramReady {
        ProgramReady(ready: program, publish: try FreePort.endpoint(), reply: try FreePort.endpoint())
    }

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

    /// Kills a recorder, and waits for its end.
    func kill(_ program: ProgramUnderTest) async throws {
        try program.send(.kill)
        #expect(try await program.end() == .killed(by: 9))
    }

    func start(_ request: RecordingStart) async throws {
        let reply = try await recordings.send(request, timeout: .seconds(60))
        #expect(reply.status == "running")
    }

    /// Waits until each log of a session has `count` more samples than now.
    func more(_ count: Int, in session: String) async throws {
        let before = try await samples(of: session)
        try await eventually("\(count) more samples") {
            let now = try await samples(of: session)
            return !now.isEmpty && now.allSatisfy { $0.value >= before[$0.key, default: 0] + count }
        }
    }

    private func samples(of session: String) async throws -> [String: Int] {
        let logs = try await recordings.send(RecordingStatus(session: session), timeout: .seconds(60)).logs
        return Dictionary(uniqueKeysWithValues: logs.map { ($0.name, $0.samples) })
    }

    func stop(_ session: String, with client: RequestClient? = nil) async throws -> RecordingResult {
        try await (client ?? recordings).send(RecordingStop(session: session), timeout: .seconds(60))
    }

    /// Another client of the recorder, because one socket takes one request at a time.
    func otherRequests() throws -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: recorderEndpoint.reply)
    }

    /// The records of a log, from all its files.
    func records(of log: RecordingResult.Log, in result: RecordingResult) throws -> [LogItem] {
        try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
    }
}
