import Import
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Requests samples from a publisher, or from a relay in its place.
struct PublisherReplies: SampleReplies {
    /// How long the publisher may give no answer; meanwhile, unanswered requests are repeated. A recorder waits as long.
    private static let timeout = Duration.seconds(10)

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
        try await client.sendForFrames(request, timeout: Self.timeout)
    }

    func pause(seconds: Double) async throws {
        try await ContinuousClock().sleep(for: .seconds(seconds))
    }
}
