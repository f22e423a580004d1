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

    /// Opens a socket that will listen to programs: `ServiceHost.listener` connects it.
    /// - Parameters:
    ///   - topics: what their messages' topics begin with.
    ///   - program: which program publishes them.
    ///   - endpoints: where it does.
    func subscriber(
        to topics: [String], of program: Program, at endpoints: [Endpoint], options: SocketOptions
    ) async throws -> Subscriber {
        var options = options
        options.security = try security.connecting(to: program, at: endpoints)
        let subscriber = try Subscriber(context: context, thread: thread, options: options)
        for topic in topics { try await subscriber.subscribe(to: topic) }
        return subscriber
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
