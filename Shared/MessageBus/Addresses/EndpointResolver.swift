import Synchronization
import ZeroMQ

/// Resolves an endpoint for libzmq, whose own look-ups block all sockets of a context. Of a host's addresses one is used, and
/// the next one if it does not answer.
final class EndpointResolver: Sendable {
    /// How long a look-up's result is valid, in nanoseconds.
    private static let lookupLife: Int64 = 5_000_000_000
    /// How long to wait for a look-up if earlier addresses are known, in nanoseconds.
    private static let lookupPatience: Int64 = 250_000_000
    /// The pause before a name that was not found is looked up again, in nanoseconds.
    private static let lookupPause: Int64 = 500_000_000

    let endpoint: String
    private let target: EndpointTarget
    private let names: NameLookup
    /// The host's address that was used last, and whether it failed to answer.
    private let asked = Mutex<(address: String, isSilent: Bool)?>(nil)

    init(_ endpoint: String, names: NameLookup = .system) {
        self.endpoint = endpoint
        self.names = names
        target = EndpointTarget(endpoint)
    }

    /// Whether the endpoint needs no look-up.
    var isPlace: Bool {
        if case .place = target { true } else { false }
    }

    /// The endpoint to connect to: a host's last address, as long as the name still resolves to it and it answers.
    /// - Throws: `ZeroMQError` with `timedOut` if no address is known at the deadline.
    func place(deadline: Int64) async throws -> String {
        guard case .host(let name, let port) = target else { return endpoint }
        // An address that did not answer may be outdated.
        let isSilent = asked.withLock { $0?.isSilent == true }
        let oldest = MonotonicClock.now - (isSilent ? 0 : Self.lookupLife)
        let hosts = try await addresses(of: name, notBefore: oldest, deadline: deadline)
        let address = asked.withLock { asked in
            var address = hosts[0]
            if let asked, let index = hosts.firstIndex(of: asked.address) {
                address = asked.isSilent ? hosts[(index + 1) % hosts.count] : asked.address
            }
            asked = (address, false)
            return address
        }
        return "tcp://\(address):\(port)"
    }

    /// Records that the last address did not answer.
    func noteSilence() { asked.withLock { $0?.isSilent = true } }

    /// The addresses of the host: a recent result, or else that of a new look-up. If the look-up is slow or finds nothing,
    /// earlier addresses are used if there are any.
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
            var end = min(again, deadline)
            if case .found(let hosts) = names.lastFound(of: name)?.addresses {
                if hasFailed || now - start >= Self.lookupPatience { return hosts }
                end = min(end, start + Self.lookupPatience)
            }
            guard now < deadline else {
                var reason = "its look-up takes long"
                if hasFailed, case .notFound(let words) = answer?.addresses { reason = words }
                throw ZeroMQError(.timedOut, during: "request to \(endpoint) (\(reason))")
            }
            try await names.next(after: answer, of: name, until: end)
        }
    }
}
