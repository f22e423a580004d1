import Import
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Requests samples from a publisher, or from a relay in its place.
struct PublisherReplies: SampleReplies {
    /// How long the publisher may send nothing; meanwhile, unanswered requests are repeated. A recorder waits as long.
    private static let silence = Duration.seconds(10)
    /// How long a reply may take: 4 MiB over a link with about 100 kbit/s.
    private static let timeout = Duration.seconds(300)

    private let client: RequestClient

    /// - Throws: `ServiceError` (bad configuration) if a key or the keys are missing.
    init(at endpoint: Endpoint, options: ServiceOptions) throws {
        let reader = try ConfigurationReader(for: .recorder, flags: options.flags)
        var socketOptions = SocketOptions()
        // Drop unsent requests to a program that does not answer.
        socketOptions.linger = .zero
        let peers = Peers(
            context: try Context(), thread: try SocketThread(name: "client"),
            security: try Security(askingWith: reader, as: .recorder))
        client = try peers.client(of: .sensorPublisher, at: endpoint, options: socketOptions)
    }

    func answer(_ request: SamplesReplay) async throws -> (reply: SamplesReplay.Reply, frames: ArraySlice<[UInt8]>) {
        try await client.sendForFrames(request, timeout: Self.timeout, silence: Self.silence)
    }

    func pause(seconds: Double) async throws {
        try await ContinuousClock().sleep(for: .seconds(seconds))
    }
}
