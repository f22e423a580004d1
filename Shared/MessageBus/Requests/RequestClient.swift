public import Messages
public import ZeroMQ

/// Sends typed requests to a program over a REQ socket, each with a time limit.
///
/// A broken connection silently loses a request or its reply. So a repeatable request is sent again when its reply is overdue,
/// until its time limit.
///
/// `EndpointResolver` looks up a host's name before each request.
public final class RequestClient: Sendable {
    /// The time after which a reply is overdue.
    private static let repeatInterval = Duration.seconds(3)

    /// The program's REP endpoint.
    public let endpoint: String
    private let requester: Requester
    private let resolver: EndpointResolver

    /// Connects to a program, as soon as it is running.
    public convenience init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions()
    ) throws(ZeroMQError) {
        try self.init(context: context, thread: thread, endpoint: endpoint, options: options, names: .system)
    }

    /// Connects to a program, with a given way to look up its name.
    package init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions(),
        names: NameLookup
    ) throws(ZeroMQError) {
        self.endpoint = endpoint
        resolver = EndpointResolver(endpoint, names: names)
        requester = try Requester(
            context: context, thread: thread, endpoint: resolver.isPlace ? endpoint : nil, options: options)
    }

    /// Sends a request and waits for its reply.
    /// - Throws: `RequestError` if the request is refused, `ZeroMQError` with `timedOut` if no reply arrives, and
    ///   `MessageError` if the reply can't be read.
    public func send<Params: Request>(_ request: Params, timeout: Duration) async throws -> Params.Reply {
        try await sendForFrames(request, timeout: timeout).reply
    }

    /// Sends a request whose reply has further frames.
    public func sendForFrames<Params: Request>(
        _ request: Params, timeout: Duration
    ) async throws -> (reply: Params.Reply, frames: ArraySlice<[UInt8]>) {
        // The socket takes one request at a time and drops late replies itself, so all requests can have the same id.
        let envelope = RequestEnvelope(id: .integer(1), params: request)
        let frames = try await reply(to: WireCoding.encode(envelope), repeating: Params.isRepeatable, timeout: timeout)
        do {
            let reply = try WireCoding.decode(ReplyEnvelope<Params.Reply>.self, from: frames.first ?? [])
            if let error = reply.error { throw error }
            if let result = reply.result { return (result, frames.dropFirst()) }
        } catch let error as DecodingError {
            throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method): \(error.sentence)")
        }
        throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method) has neither result nor error")
    }

    private func reply(to request: [UInt8], repeating: Bool, timeout: Duration) async throws -> [[UInt8]] {
        let deadline = MonotonicClock.now + timeout.inNanoseconds
        while true {
            let left = Duration.nanoseconds(max(0, deadline - MonotonicClock.now))
            let isLast = !repeating || left <= Self.repeatInterval
            do {
                return try await reply(to: request, timeout: isLast ? left : Self.repeatInterval)
            } catch let error as ZeroMQError where error.code == .timedOut && !isLast {}
        }
    }

    private func reply(to request: [UInt8], timeout: Duration) async throws -> [[UInt8]] {
        if resolver.isPlace { return try await requester.request([request], timeout: timeout) }
        let deadline = MonotonicClock.now + timeout.inNanoseconds
        let place = try await resolver.place(deadline: deadline)
        do {
            return try await requester.request(
                [request], at: place, timeout: .nanoseconds(max(0, deadline - MonotonicClock.now)))
        } catch let error as ZeroMQError where error.code == .timedOut {
            resolver.noteSilence()
            throw error
        }
    }
}
