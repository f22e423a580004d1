import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A real publisher and a real recorder, on ports and in a directory of their own.
struct Rig: Sendable {
    let directory: FilePath
    let publisher: ProgramUnderTest
    let publisherReady: ProgramReady
    let recorder: ProgramUnderTest
    let recorderReady: ProgramReady
    /// Sends requests to the publisher.
    let streams: RequestClient
    /// Sends requests to the recorder.
    let recordings: RequestClient
    let context: Context
    let thread: SocketThread

    /// Starts both programs, and ends them with the body.
    /// - Parameters:
    ///   - publishing: the publisher's options; its configuration file, if any, is in the directory by then.
    ///   - isLocal: whether the publisher has Unix sockets instead of ports: the kernel buffers little for a subscriber that does
    ///     not read.
    ///   - recording: the recorder's options.
    ///   - subdirectory: the recorder's data directory under the rig's directory; nil for the directory itself.
    static func run(
        publishing: [String], isLocal: Bool = false, recording: [String] = [], files: [String: String] = [:],
        dataIn subdirectory: String? = nil,
        _ body: @Sendable (Rig) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            for (name, text) in files {
                try text.write(toFile: directory.appending(name).string, atomically: true, encoding: .utf8)
            }
            let ends = isLocal ? Network.sockets("publisher", in: directory) : ProgramUnderTest.anyPorts
            let data = subdirectory.map { directory.appending($0) } ?? directory
            let context = try Context()
            let thread = try SocketThread(name: "test")
            try await ProgramUnderTest.run(
                "sensor-publisher", arguments: ends + publishing, in: directory
            ) { publisher in
                let publisherReady = try await publisher.ready()
                try await ProgramUnderTest.run(
                    "recorder",
                    arguments: ProgramUnderTest.anyPorts
                        + ["--data", data.string, "--subscribe", publisherReady.publish] + recording,
                    in: directory
                ) { recorder in
                    let recorderReady = try await recorder.ready()
                    try await body(
                        Rig(
                            directory: directory, publisher: publisher, publisherReady: publisherReady,
                            recorder: recorder, recorderReady: recorderReady,
                            streams: RequestClient(context: context, thread: thread, endpoint: publisherReady.reply),
                            recordings: RequestClient(context: context, thread: thread, endpoint: recorderReady.reply),
                            context: context, thread: thread))
                }
            }
        }
    }

    func start(_ request: RecordingStart) async throws {
        let reply = try await recordings.send(request, timeout: .seconds(60))
        #expect(reply.status == "running")
    }

    func stop(_ session: String) async throws -> RecordingResult {
        try await recordings.send(RecordingStop(session: session), timeout: .seconds(60))
    }

    /// Starts a stream that was stopped.
    func startStream(_ name: String) async throws {
        let stream = try #require(StreamName(name))
        _ = try await streams.send(StreamsStart(stream: stream), timeout: .seconds(60))
    }

    /// Waits until a stream's source has delivered its last sample.
    func ended(_ name: String) async throws -> StreamDescription {
        try await eventualValue("the end of \(name)", within: .seconds(40)) {
            let reply = try await streams.send(StreamsList(), timeout: .seconds(60))
            return reply.streams.first { $0.name.description == name && $0.state == .ended }
        }
    }

    /// The only finished file of a session's only log.
    func onlyFile(of result: RecordingResult) throws -> FilePath {
        let log = try #require(result.logs.first)
        let file = try #require(log.files.first)
        #expect(result.logs.count == 1)
        #expect(log.files.count == 1)
        return FilePath(result.directory).appending(file)
    }
}
