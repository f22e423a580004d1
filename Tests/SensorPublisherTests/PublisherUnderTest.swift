import Logging
import MessageBus
import Messages
import PublisherCore
import PublisherEngine
import SampleSources
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// A sensor publisher with its own sockets, built as by its `main`.
struct PublisherUnderTest {
    let host: ServiceHost
    let replyEndpoint: String
    private let client: RequestClient

    /// Runs a publisher while a closure runs.
    /// - Parameters:
    ///   - flags: as on the command line, by key.
    ///   - elapsedClock: the clock that continues while the machine sleeps.
    static func run(
        _ flags: [String: String], elapsedClock: @escaping @Sendable () -> Int64 = { BootClock.now },
        _ body: (PublisherUnderTest) async throws -> Void
    ) async throws {
        var values = FlagValues()
        values.set("publish", "tcp://127.0.0.1:*")
        values.set("reply", "tcp://127.0.0.1:*")
        for (key, value) in flags { values.set(key, value) }
        let reader = try ConfigurationReader(for: .sensorPublisher, flags: values, environment: [:])
        let configuration = try ServiceConfiguration(for: .sensorPublisher, reading: reader)
        let settings = try PublisherSettings(reading: reader)
        try reader.finish()

        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let host = try ServiceHost(configuration: configuration, logger: logger)
        let running = try await RunningService.sensorPublisher(settings, on: host, elapsedClock: elapsedClock)
        let server = try await ReplyServer(
            listeningOn: configuration.reply.description, router: running.router, context: host.context,
            thread: host.thread)
        let parts = try running.parts(ServiceEndpoints(publish: host.publishEndpoint, reply: server.endpoint))
        let publisher = PublisherUnderTest(
            host: host, replyEndpoint: server.endpoint,
            client: try RequestClient(context: host.context, thread: host.thread, endpoint: server.endpoint))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for part in parts { group.addTask { try await part.run() } }
            defer { group.cancelAll() }
            try await body(publisher)
        }
    }

    func ask<Question: Request>(_ request: Question) async throws -> Question.Reply {
        try await client.send(request, timeout: .seconds(50))
    }

    /// The error that a request is refused with; nil if it succeeds.
    func refusal<Question: Request>(of request: Question) async throws -> RequestError? {
        do {
            _ = try await ask(request)
            return nil
        } catch let error as RequestError {
            return error
        }
    }

    func stream(_ name: String) async throws -> StreamDescription? {
        try await ask(StreamsList()).streams.first { $0.name.description == name }
    }

    /// A replay's reply and its decoded batches.
    func replay(_ request: SamplesReplay) async throws -> (reply: SamplesReplay.Reply, batches: [HeardBatch]) {
        let (reply, frames) = try await client.sendForFrames(request, timeout: .seconds(50))
        var batches: [HeardBatch] = []
        var rest = frames
        while let body = rest.popFirst() {
            let batch = try WireCoding.decode(SampleBatch.self, from: body)
            batches.append(HeardBatch(batch, packed: batch.types == nil && batch.values == nil ? rest.popFirst() : nil))
        }
        return (reply, batches)
    }

    /// The bodies of a replay's batches.
    func bodies(_ request: SamplesReplay) async throws -> [[UInt8]] {
        let (_, frames) = try await client.sendForFrames(request, timeout: .seconds(50))
        return frames.map { Array($0) }
    }

    /// A listener that receives everything that the publisher publishes after this returns.
    func listener() async throws -> Listener {
        try await Listener(to: host.publishEndpoint, context: host.context, thread: host.thread)
    }
}
