package import ZeroMQ

extension ServiceHost {
    /// Opens a socket that listens to other programs.
    /// - Parameters:
    ///   - topics: what their messages' topics begin with.
    ///   - endpoints: where they publish.
    package func subscriber(
        to topics: [String], at endpoints: [Endpoint], options: SocketOptions = SocketOptions()
    ) async throws -> Subscriber {
        let subscriber = try Subscriber(context: context, thread: thread, options: options)
        for topic in topics { try await subscriber.subscribe(to: topic) }
        for endpoint in endpoints { try await subscriber.connect(to: endpoint.description) }
        return subscriber
    }
}
