package import Logging
package import MessageBus
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
    /// The thread that sockets are used on.
    package let thread: SocketThread
    /// The program's PUB socket, listening already.
    package let publisher: EventPublisher
    /// Where `publisher` listens, with its real port.
    package let publishEndpoint: String

    /// How the program reaches others.
    package var peers: Peers { Peers(context: context, thread: thread) }

    /// Starts the thread and listens for subscribers.
    /// - Parameter publishing: what bounds the PUB socket.
    /// - Throws: `ZeroMQError` where the endpoint can't be listened on.
    package init(
        configuration: ServiceConfiguration, logger: Logger, health: Health = Health(),
        publishing: SocketOptions = .publishing
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.health = health
        context = try Context()
        thread = try SocketThread(name: "bus")
        (publisher, publishEndpoint) = try EventPublisher.listening(
            on: configuration.publish.description, context: context, thread: thread, options: publishing)
    }
}
