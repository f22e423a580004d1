public import Messages
public import ZeroMQ

/// Asks a program: typed requests over a REQ socket, each with a time limit.
///
/// A connection that breaks takes a request or its reply with it, and nobody is told. So a request that may be repeated
/// is sent again when its reply is overdue, until its time is over.
///
/// A host's name is looked up before a request, by `EndpointResolver`.
public final class RequestClient: Sendable {
    /// When a reply is overdue.
    private static let repeatInterval = Duration.seconds(3)

    /// The program's REP endpoint.
    public let endpoint: String
    private let requester: Requester
    private let resolver: EndpointResolver

    /// Connects to a program, now or whenever it is there.
    public convenience init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions()
    ) throws(ZeroMQError) {
        try self.init(context: context, thread: thread, endpoint: endpoint, options: options, names: .system)
    }

    /// Connects to a program whose name is looked up by somebody.
    package init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions(),
        names: NameLookup
    ) throws(ZeroMQError) {
        self.endpoint = endpoint
        resolver = EndpointResolver(endpoint, names: names)
        requester = try Requester(
            context: context, thread: thread, endpoint: resolver.isPlace ? endpoint : nil, options: options)
    }

    /// Sends a request and waits for what it asks.
    /// - Throws: `RequestError` if it is refused, `ZeroMQError` with `timedOut` if no answer arrives, and
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
