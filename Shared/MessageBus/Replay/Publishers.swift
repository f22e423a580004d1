import Messages
package import ZeroMQ

/// How a program asks publishers. Each request has a socket of its own, so that a publisher that does not answer delays only
/// requests to itself. Replays of missing samples share one connection for each publisher.
package struct Publishers: Sendable {
    private let context: Context
    private let thread: SocketThread
    private let options: @Sendable (_ endpoint: String) throws(ZeroMQError) -> SocketOptions
    private let routes = SharedRoutes()
    private let replays: ReplayClient

    /// Asks over sockets of a context, used on a thread.
    /// - Parameters:
    ///   - patience: how long a publisher that owes missing samples may send nothing before it is connected to anew, in nanoseconds.
    ///   - options: how a connection to an endpoint is bounded and protected. It throws if it may not be made.
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

    /// Notes where a publisher is heard from, to ask it there if it does not answer at the endpoint that it announces.
    package func note(_ announced: String, heardFrom address: String) { routes.note(announced, heardFrom: address) }

    /// Asks a publisher, at the other place too if it does not answer at the first.
    /// - Parameter announced: the endpoint that a stream's description names.
    /// - Throws: what the body throws.
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

    /// Asks for a stream's missing samples until none is missing.
    /// - Parameter limit: how long a publisher that is heard may give no answer of any kind; then the samples are given up.
    package func recover(_ stream: some RecoveringStream, limit: Duration) async throws {
        try await replays.recover(stream, limit: limit)
    }

    private func client(at endpoint: String) throws(ZeroMQError) -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: endpoint, options: options(endpoint))
    }
}
