package import Logging
package import MessageBus
package import ZeroMQ

/// How a program, or a subcommand, reaches the programs of Holdfast: every connection is opened here, since each says
/// who is at its other end.
package struct Peers: Sendable {
    private let context: Context
    private let thread: SocketThread
    private let security: Security

    /// Reaches others over sockets of this context, used on this thread.
    package init(context: Context, thread: SocketThread, security: Security) {
        self.context = context
        self.thread = thread
        self.security = security
    }

    /// Listens to programs. A name that is not known yet is no error: health tells of it.
    /// - Parameters:
    ///   - topics: what their messages' topics begin with.
    ///   - program: which program publishes there.
    ///   - endpoints: where they publish: addresses, or names with any number of addresses.
    ///   - names: who looks names up.
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

    /// Opens a socket that asks a program.
    package func client(
        of program: Program, at endpoint: Endpoint, options: SocketOptions = SocketOptions()
    ) throws -> RequestClient {
        var options = options
        options.security = try security.connecting(to: program, at: [endpoint])
        return try RequestClient(context: context, thread: thread, endpoint: endpoint.description, options: options)
    }

    /// How publishers are asked, at the endpoints that descriptions of streams name.
    package var publishers: Publishers {
        Publishers(context: context, thread: thread) { (endpoint) throws(ZeroMQError) in
            // It came over the network: what makes no sense, or may not be connected to, is as good as away.
            guard let place = try? Endpoint(typed: endpoint) else {
                throw ZeroMQError(.invalidArgument, during: "connecting to \(endpoint)")
            }
            var options = SocketOptions()
            // Four times what a publisher of ours answers with.
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
