public import Messages
public import ZeroMQ

/// Asks a program: typed requests over a REQ socket, each with a time limit.
public final class RequestClient: Sendable {
    /// The program's REP endpoint.
    public let endpoint: String
    private let requester: Requester

    /// Connects to a program, now or whenever it is there.
    public init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions()
    ) throws(ZeroMQError) {
        self.endpoint = endpoint
        requester = try Requester(context: context, thread: thread, endpoint: endpoint, options: options)
    }

    /// Sends a request and waits for what it asks.
    /// - Throws: `RequestError` where it is refused, `ZeroMQError` with `timedOut` where nobody answers, and
    ///   `MessageError` where the answer can't be read.
    public func send<Params: Request>(_ request: Params, timeout: Duration) async throws -> Params.Reply {
        try await sendForFrames(request, timeout: timeout).reply
    }

    /// Sends a request whose reply brings further frames.
    public func sendForFrames<Params: Request>(
        _ request: Params, timeout: Duration
    ) async throws -> (reply: Params.Reply, frames: ArraySlice<[UInt8]>) {
        // One socket takes one request at a time and drops late replies itself, so any id will do.
        let envelope = RequestEnvelope(id: .integer(1), params: request)
        let frames = try await requester.request([WireCoding.encode(envelope)], timeout: timeout)
        do {
            let reply = try WireCoding.decode(ReplyEnvelope<Params.Reply>.self, from: frames.first ?? [])
            if let error = reply.error { throw error }
            if let result = reply.result { return (result, frames.dropFirst()) }
        } catch let error as DecodingError {
            throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method): \(error.sentence)")
        }
        throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method) has neither result nor error")
    }
}
