package import MessageBus
package import ZeroMQ

extension ServiceHost {
    /// Listens to programs. A name that is not known yet is no error: health tells of it.
    /// - Parameters:
    ///   - topics: what their messages' topics begin with.
    ///   - program: which program publishes there.
    ///   - endpoints: where they publish: addresses, or names with any number of addresses.
    ///   - names: who looks names up.
    package func listener(
        to topics: [String], of program: Program, at endpoints: [Endpoint], options: SocketOptions = SocketOptions(),
        names: NameLookup = .system
    ) async throws -> Listener {
        let subscriber = try await peers.subscriber(to: topics, of: program, at: endpoints, options: options)
        let connections = Connections(of: subscriber, to: endpoints, of: program, on: self, names: names)
        try await connections.begin()
        return Listener(subscriber, connections)
    }
}
