package import Logging
package import MessageBus
package import ZeroMQ

/// Opens all connections of a program, or of a subcommand, to other programs, because each connection must know which program
/// is at the other end.
package struct Peers: Sendable {
    private let context: Context
    private let thread: SocketThread
    private let security: Security

    package init(context: Context, thread: SocketThread, security: Security) {
        self.context = context
        self.thread = thread
        self.security = security
    }

    /// Subscribes to programs. A name that can't be resolved yet is not an error; health reports it.
    /// - Parameters:
    ///   - topics: the prefixes of the messages' topics.
    ///   - program: the program that publishes at the endpoints.
    ///   - endpoints: addresses, or names with any number of addresses.
    ///   - names: looks names up.
    package func listener(
        to topics: [String], of program: Program, at endpoints: [Endpoint], options: SocketOptions = SocketOptions(),
        isNeeded: Bool = true, names: NameLookup = .system, health: Health, logger: Logger
    ) async throws -> Listener {
        var options = options
        options.security = try security.connecting(to: program, at: endpoints)
        let subscriber = try Subscriber(context: context, thread: thread, options: options)
        for topic in topics { try await subscriber.subscribe(to: topic) }
        let connections = Connections(
            of: subscriber, to: endpoints, of: program, on: thread, isNeeded: isNeeded, health: health, logger: logger,
            names: names)
        try await connections.begin()
        return Listener(subscriber, connections)
    }

    package func client(
        of program: Program, at endpoint: Endpoint, options: SocketOptions = SocketOptions()
    ) throws -> RequestClient {
        var options = options
        options.security = try security.connecting(to: program, at: [endpoint])
        return try RequestClient(context: context, thread: thread, endpoint: endpoint.description, options: options)
    }

    /// A client for publishers, at the endpoints in descriptions of streams.
    package var publishers: Publishers {
        Publishers(context: context, thread: thread) { (endpoint) throws(ZeroMQError) in
            // The endpoint came over the network: an invalid or forbidden one is treated as unreachable.
            guard let place = try? Endpoint(typed: endpoint) else {
                throw ZeroMQError(.invalidArgument, during: "connecting to \(endpoint)")
            }
            var options = SocketOptions()
            // Four times a publisher's largest reply.
            options.maximumFrameSize = 16 << 20
            do throws(ServiceError) {
                options.security = try security.connecting(to: .sensorPublisher, at: [place])
            } catch {
                throw ZeroMQError(.notAllowed, during: error.message)
            }
            return options
        }
    }
}
