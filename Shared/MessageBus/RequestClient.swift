public import Messages
import Synchronization
public import ZeroMQ

/// Asks a program: typed requests over a REQ socket, each with a time limit.
///
/// A connection that breaks takes a request or its reply with it, and nobody is told. So a request that may be repeated
/// is sent again when its reply is overdue, until its time is over.
///
/// A host's name is looked up before a request, not by libzmq: its look-ups block all sockets of a context. A host with
/// several addresses is asked at one of them, at the next one where that does not answer.
public final class RequestClient: Sendable {
    /// When a reply is overdue.
    private static let repeatInterval = Duration.seconds(3)

    /// How long what a look-up found is good for, in nanoseconds.
    private static let lookupLife: Int64 = 5_000_000_000
    /// How long a look-up may take where addresses are known, in nanoseconds.
    private static let lookupPatience: Int64 = 250_000_000
    /// The pause after which a name that was not found is looked up again, in nanoseconds.
    private static let lookupPause: Int64 = 500_000_000

    /// The program's REP endpoint.
    public let endpoint: String
    private let requester: Requester
    private let target: EndpointTarget
    private let names: NameLookup
    /// The address of the host that was asked last, and whether it failed to answer.
    private let asked = Mutex<(address: String, isSilent: Bool)?>(nil)

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
        self.names = names
        target = EndpointTarget(endpoint)
        var isPlace = false
        if case .place = target { isPlace = true }
        requester = try Requester(
            context: context, thread: thread, endpoint: isPlace ? endpoint : nil, options: options)
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
        guard case .host(let name, let port) = target else {
            return try await requester.request([request], timeout: timeout)
        }
        let deadline = MonotonicClock.now + timeout.inNanoseconds
        let address = try await address(of: name, deadline: deadline)
        do {
            return try await requester.request(
                [request], at: "tcp://\(address):\(port)",
                timeout: .nanoseconds(max(0, deadline - MonotonicClock.now)))
        } catch let error as ZeroMQError where error.code == .timedOut {
            asked.withLock { if $0?.address == address { $0?.isSilent = true } }
            throw error
        }
    }

    /// The address to ask: the one that was asked last, for as long as the name has it and it answers.
    private func address(of name: String, deadline: Int64) async throws -> String {
        // What did not answer may be what the name had before.
        let isSilent = asked.withLock { $0?.isSilent == true }
        let oldest = MonotonicClock.now - (isSilent ? 0 : Self.lookupLife)
        let hosts = try await addresses(of: name, notBefore: oldest, deadline: deadline)
        return asked.withLock { asked in
            var address = hosts[0]
            if let asked, let index = hosts.firstIndex(of: asked.address) {
                address = asked.isSilent ? hosts[(index + 1) % hosts.count] : asked.address
            }
            asked = (address, false)
            return address
        }
    }

    /// The addresses of the host: what was found lately, or else what a look-up finds. One that takes long, or finds
    /// nothing, is waited for only where nothing was ever found.
    private func addresses(of name: String, notBefore oldest: Int64, deadline: Int64) async throws -> [String] {
        let start = MonotonicClock.now
        var again = start
        while true {
            let now = MonotonicClock.now
            let answer = names.answer(of: name)
            if let answer, answer.time >= oldest, case .found(let hosts) = answer.addresses { return hosts }
            if now >= again {
                names.begin(name)
                again = now + Self.lookupPause
            }
            let hasFailed = (answer?.time ?? .min) >= start
            if hasFailed || now - start >= Self.lookupPatience,
                case .found(let hosts) = names.lastFound(of: name)?.addresses
            {
                return hosts
            }
            guard now < deadline else {
                var reason = "its look-up takes long"
                if hasFailed, case .notFound(let words) = answer?.addresses { reason = words }
                throw ZeroMQError(.timedOut, during: "request to \(endpoint) (\(reason))")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
