import Messages
package import ZeroMQ

/// Sends requests to publishers. Each request has a socket of its own, so that a publisher that does not answer delays only its
/// own requests. Replays of missing samples share one connection for each publisher.
package struct Publishers: Sendable {
    private let context: Context
    private let thread: SocketThread
    private let options: @Sendable (_ endpoint: String) throws(ZeroMQError) -> SocketOptions
    private let routes = SharedRoutes()
    private let replays: ReplayClient

    /// Creates a client that uses a context's sockets on a thread.
    /// - Parameters:
    ///   - patience: how long, in nanoseconds, a publisher that owes missing samples may send nothing before it is reconnected.
    ///   - options: the limits and protection of a connection to an endpoint. It throws if the connection is not allowed.
    package init(
        context: Context, thread: SocketThread, patience: Int64 = ReplaySchedule.patience,
        options: @escaping @Sendable (_ endpoint: String) throws(ZeroMQError) -> SocketOptions
    ) {
        self.context = context
        self.thread = thread
        self.options = options
        replays = ReplayClient(
            context: context, thread: thread, routes: routes, patience: patience, options: options)
    }

    /// Records the address that a publisher sends from, to try it if the announced endpoint does not answer.
    package func note(_ announced: String, heardFrom address: String) { routes.note(announced, heardFrom: address) }

    /// Sends requests to a publisher, and repeats them at its other endpoint if it does not answer.
    /// - Parameter announced: the endpoint in a stream's description.
    /// - Throws: errors of the body.
    package func ask<Answer>(
        _ announced: String, _ body: (RequestClient) async throws -> Answer
    ) async throws -> Answer {
        let first = routes.endpoint(for: announced)
        do {
            return try await body(client(at: first))
        } catch let error as ZeroMQError {
            guard routes.noteSilence(of: announced, at: first) else { throw error }
        }
        let second = routes.endpoint(for: announced)
        do {
            return try await body(client(at: second))
        } catch let error as ZeroMQError {
            _ = routes.noteSilence(of: announced, at: second)
            throw error
        }
    }

    /// Requests a stream's missing samples until none are missing.
    /// - Parameter limit: how long a publisher that is heard may leave requests unanswered before the samples are given up.
    package func recover(_ stream: some RecoveringStream, limit: Duration) async throws {
        try await replays.recover(stream, limit: limit)
    }

    private func client(at endpoint: String) throws(ZeroMQError) -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: endpoint, options: options(endpoint))
    }
}
