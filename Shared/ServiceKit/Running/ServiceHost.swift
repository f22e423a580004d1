package import Logging
package import MessageBus
import Messages
import Metrics
import PeerLimits
package import ZeroMQ

/// The base of a service: its settings, its sockets' thread, its publisher, its log and its health.
///
/// `ServiceRunner` creates one for a program; a test creates its own, with `inproc` endpoints and a log in memory.
package struct ServiceHost: Sendable {
    /// The limit of libzmq's sockets. A request takes three, so that 5,000 publishers can be asked at the same time. The unused
    /// ones take 12 bytes each.
    private static let maximumSockets = 1 << 14

    package let configuration: ServiceConfiguration
    /// For the program's life-cycle and for possible losses; never per message.
    package let logger: Logger
    package let health: Health
    /// The owner of libzmq's threads: one per process.
    package let context: Context
    /// Incidents on the connections of the context's sockets.
    let incidents: ConnectionIncidents
    package let thread: SocketThread
    /// The program's PUB socket, already bound.
    package let publisher: EventPublisher
    /// The endpoint of `publisher`, with the actual port.
    package let publishEndpoint: String
    /// The server of metrics, which `AnsweringParts` runs; nil if metrics are not configured.
    let metricsServer: MetricsServer?
    /// Admits clients to the program's own sockets; nil if there are no keys.
    package let gate: ClientGate?
    /// The protection of the program's own sockets.
    package let listening: SocketSecurity

    package var peers: Peers { Peers(context: context, thread: thread, security: configuration.security) }

    /// Starts the thread and binds the PUB socket.
    /// - Parameter publishing: the limits of the PUB socket.
    /// - Throws: `ZeroMQError` if the endpoint can't be bound, `ServiceError` if a key can't be on the list or metrics can't be
    ///   served.
    package init(
        configuration: ServiceConfiguration, logger: Logger, health: Health = Health(),
        publishing: SocketOptions = .publishing
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.health = health
        let incidents = ConnectionIncidents()
        self.incidents = incidents
        context = try Context(
            maximumSockets: Self.maximumSockets, guarding: { PeerGuard(of: $0, noting: incidents) })
        thread = try SocketThread(name: "bus")
        (listening, gate) = try configuration.security.listening(in: context) { key, directory in
            try ClientGate(own: key, directory: directory, logger: logger, health: health)
        }
        var publishing = publishing
        publishing.security = listening
        publishing.maximumConnections = configuration.maximumConnections
        (publisher, publishEndpoint) = try EventPublisher.listening(
            on: configuration.publish.description, context: context, thread: thread, options: publishing)
        metricsServer = try configuration.metrics.map(MetricsService.listen)
    }

    /// Binds the REP endpoint, and answers each request that the client's role allows.
    package func replyServer(answering router: RequestRouter) async throws -> ReplyServer {
        var options = SocketOptions.replying
        options.security = listening
        options.maximumConnections = configuration.maximumConnections
        let isInProcess = configuration.reply.transport == .inproc
        return try await ReplyServer(
            listeningOn: configuration.reply.description, router: router, context: context, thread: thread,
            options: options,
            role: { [gate] user in
                guard let gate else { return .delete }
                // With a gate, only connections within the process have no key.
                guard let user else { return isInProcess ? .delete : nil }
                return gate.role(of: user)
            },
            refused: { [gate] user, error in gate?.noteRefusal(of: user ?? "", error) })
    }
}
