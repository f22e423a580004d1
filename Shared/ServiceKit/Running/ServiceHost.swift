package import Logging
package import MessageBus
import Messages
import Metrics
import PeerLimits
package import ZeroMQ

/// What a service is built on: its settings, its sockets' thread, its publisher, its log and its health.
///
/// `ServiceRunner` makes one for a program; a test makes one for itself, with `inproc` endpoints and a log in memory.
package struct ServiceHost: Sendable {
    /// The settings that every program has.
    package let configuration: ServiceConfiguration
    /// For the program's life-cycle and for what may be lost; never per message.
    package let logger: Logger
    /// Where the parts of the program report how they are.
    package let health: Health
    /// The owner of libzmq's threads: one per process.
    package let context: Context
    /// What happened to the connections of the context's sockets.
    let incidents: ConnectionIncidents
    /// The thread that sockets are used on.
    package let thread: SocketThread
    /// The program's PUB socket, listening already.
    package let publisher: EventPublisher
    /// Where `publisher` listens, with its real port.
    package let publishEndpoint: String
    /// Where metrics are read, once `AnsweringParts` serve them; nil if they are not wanted.
    let metricsServer: MetricsServer?
    /// Who may speak with the program's own sockets; nil if there are no keys.
    package let gate: ClientGate?
    /// How the program's own sockets are protected.
    package let listening: SocketSecurity

    /// How the program reaches others.
    package var peers: Peers { Peers(context: context, thread: thread, security: configuration.security) }

    /// Starts the thread and listens for subscribers.
    /// - Parameter publishing: what bounds the PUB socket.
    /// - Throws: `ZeroMQError` if the endpoint can't be listened on, `ServiceError` where keys can't be on the list or metrics can't be
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
        context = try Context(guarding: { PeerGuard(of: $0, noting: incidents) })
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

    /// Listens for requests, and answers each as far as the asker's role allows.
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
                // Nobody comes in without a key but from within the process.
                guard let user else { return isInProcess ? .delete : nil }
                return gate.role(of: user)
            },
            refused: { [gate] user, error in gate?.noteRefusal(of: user ?? "", error) })
    }
}
