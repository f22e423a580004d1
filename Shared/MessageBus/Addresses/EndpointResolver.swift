import Synchronization
import ZeroMQ

/// Finds the place behind an endpoint, for libzmq: its own look-ups block all sockets of a context. A host with several
/// addresses is asked at one of them, at the next one if that does not answer.
final class EndpointResolver: Sendable {
    /// How long what a look-up found is good for, in nanoseconds.
    private static let lookupLife: Int64 = 5_000_000_000
    /// How long a look-up may take where addresses are known, in nanoseconds.
    private static let lookupPatience: Int64 = 250_000_000
    /// The pause after which a name that was not found is looked up again, in nanoseconds.
    private static let lookupPause: Int64 = 500_000_000

    let endpoint: String
    private let target: EndpointTarget
    private let names: NameLookup
    /// The address of the host that was asked last, and whether it failed to answer.
    private let asked = Mutex<(address: String, isSilent: Bool)?>(nil)

    init(_ endpoint: String, names: NameLookup = .system) {
        self.endpoint = endpoint
        self.names = names
        target = EndpointTarget(endpoint)
    }

    /// Whether it needs no look-up.
    var isPlace: Bool {
        if case .place = target { true } else { false }
    }

    /// Where to connect: for a host at the address that was asked last, for as long as the name has it and it answers.
    /// - Throws: `ZeroMQError` with `timedOut` if no address is known at the deadline.
    func place(deadline: Int64) async throws -> String {
        guard case .host(let name, let port) = target else { return endpoint }
        // What did not answer may be what the name had before.
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

    /// Notes that the last place did not answer.
    func noteSilence() { asked.withLock { $0?.isSilent = true } }

    /// The addresses of the host: what was found lately, or else what a look-up finds. One that takes long, or finds
    /// nothing, is waited for only if nothing was ever found.
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
