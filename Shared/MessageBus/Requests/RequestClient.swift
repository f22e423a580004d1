public import Messages
public import ZeroMQ

/// Sends typed requests to a program over a REQ socket, each with a time limit.
///
/// A broken connection silently loses a request or its reply. So a repeatable request is sent again when its reply is overdue,
/// until its time limit. Because the reply to an earlier attempt is dropped, an attempt does not end while bytes arrive, and
/// each one may take twice as long as the one before. The last one gets the remaining time. An attempt that finds no connection
/// sends nothing, so any request is then tried again, at the next address of a name.
///
/// `EndpointResolver` looks up a host's name before each request.
public final class RequestClient: Sendable {
    /// The program's REP endpoint.
    public let endpoint: String
    private let requester: Requester
    private let resolver: EndpointResolver
    /// The time without received bytes after which the reply to the first attempt is overdue.
    private let repeatInterval: Duration

    /// Connects to a program, as soon as it is running.
    public convenience init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions()
    ) throws(ZeroMQError) {
        try self.init(context: context, thread: thread, endpoint: endpoint, options: options, names: .system)
    }

    /// Connects to a program, with a given way to look up its name.
    package init(
        context: Context, thread: SocketThread, endpoint: String, options: SocketOptions = SocketOptions(),
        names: NameLookup, repeatInterval: Duration = .seconds(3)
    ) throws(ZeroMQError) {
        self.endpoint = endpoint
        self.repeatInterval = repeatInterval
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
    /// - Parameter silence: how long no byte may arrive, within `timeout`; nil if only `timeout` limits it.
    public func sendForFrames<Params: Request>(
        _ request: Params, timeout: Duration, silence: Duration? = nil
    ) async throws -> (reply: Params.Reply, frames: ArraySlice<[UInt8]>) {
        // The socket takes one request at a time and drops late replies itself, so all requests can have the same id.
        let envelope = RequestEnvelope(id: .integer(1), params: request)
        let frames = try await reply(
            to: WireCoding.encode(envelope), repeating: Params.isRepeatable, timeout: timeout,
            silence: silence ?? timeout)
        do {
            let reply = try WireCoding.decode(ReplyEnvelope<Params.Reply>.self, from: frames.first ?? [])
            if let error = reply.error { throw error }
            if let result = reply.result { return (result, frames.dropFirst()) }
        } catch let error as DecodingError {
            throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method): \(error.sentence)")
        }
        throw MessageError(.malformed, "the reply of \(endpoint) to \(Params.method) has neither result nor error")
    }

    private func reply(
        to request: [UInt8], repeating: Bool, timeout: Duration, silence: Duration
    ) async throws -> [[UInt8]] {
        let deadline = MonotonicClock.now + timeout.inNanoseconds
        var left = silence
        var interval = repeatInterval
        while true {
            let isLast = !repeating || left < interval * 2
            do {
                return try await reply(to: request, deadline: deadline, silence: isLast ? left : interval)
            } catch let error as ZeroMQError where error.code == .notConnected {
                left -= repeatInterval
                guard left > .zero else { throw ZeroMQError(.timedOut, during: error.operation) }
            } catch let error as ZeroMQError where error.code == .timedOut && !isLast {
                left -= interval
                interval += interval
            }
        }
    }

    private func reply(to request: [UInt8], deadline: Int64, silence: Duration) async throws -> [[UInt8]] {
        let place = try await resolver.place(deadline: min(deadline, MonotonicClock.now + silence.inNanoseconds))
        do {
            return try await requester.request(
                [request], at: place, timeout: .nanoseconds(deadline - MonotonicClock.now),
                connecting: min(silence, repeatInterval), silence: silence)
        } catch let error as ZeroMQError where error.code == .timedOut || error.code == .notConnected {
            resolver.noteSilence()
            throw error
        }
    }
}
