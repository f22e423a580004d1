/// Decides which addresses a subscriber connects to: all that its endpoints resolve to, each once, as names' addresses change.
///
/// A pure value: its owner makes the look-ups and connections. Instants are nanoseconds of one monotonic clock.
package struct ConnectionPlan: Sendable {
    /// Connections to open and close on a socket.
    package struct Change: Hashable, Sendable {
        package var connect: [String] = []
        package var disconnect: [String] = []

        package init(connect: [String] = [], disconnect: [String] = []) {
            self.connect = connect
            self.disconnect = disconnect
        }
    }

    /// A configured endpoint, and the addresses that it resolves to.
    package struct Route: Hashable, Sendable {
        /// The endpoint as configured.
        package let endpoint: String
        package let target: EndpointTarget
        /// The endpoints with numeric addresses that the endpoint resolves to.
        package fileprivate(set) var addresses: Set<String> = []
        /// Further endpoints that the name's last answer had, beyond `maximumAddresses`.
        package fileprivate(set) var leftOut: Set<String> = []
        /// For each address since when the name's answers have lacked it.
        fileprivate var goneSince: [String: Int64] = [:]
        /// The error of the last look-up, if it found nothing.
        package fileprivate(set) var failure: String?
    }

    /// The interval between look-ups of a name, in nanoseconds.
    package static let lookupInterval: Int64 = 5_000_000_000
    /// How long an address that its name no longer has is kept, also after its connection ended, in nanoseconds: answers may be
    /// incomplete, and a lost connection may still have data to send.
    package static let keepInterval: Int64 = 30_000_000_000
    /// The maximum number of addresses per name. Each is a connection that libzmq retries forever.
    package static let maximumAddresses = 256

    package private(set) var routes: [Route]
    /// The names that need look-ups.
    package let names: [String]
    /// When each name's next look-up is due.
    private var due: [String: Int64] = [:]
    /// When each address was last seen connected.
    private var lastConnected: [String: Int64] = [:]

    /// Ignores duplicate endpoints.
    package init(_ endpoints: [String]) {
        var seen: Set<EndpointTarget> = []
        routes = endpoints.map { Route(endpoint: $0, target: EndpointTarget($0)) }.filter {
            seen.insert($0.target).inserted
        }
        for index in routes.indices {
            switch routes[index].target {
            case .place(let place): routes[index].addresses = [place]
            case .host(let name, _): due[name] = .min
            }
        }
        names = due.keys.sorted()
    }

    /// All addresses that the subscriber is to be connected to.
    package var addresses: Set<String> { routes.reduce(into: []) { $0.formUnion($1.addresses) } }

    /// The addresses that the subscriber is not connected to, because their names have too many.
    package var leftOut: Set<String> {
        routes.reduce(into: Set<String>()) { $0.formUnion($1.leftOut) }.subtracting(addresses)
    }

    /// The names whose look-up is due. Each becomes due again `lookupInterval` later.
    package mutating func takeDue(at now: Int64) -> [String] {
        let names = due.filter { $0.value <= now }.keys.sorted()
        for name in names { due[name] = now + Self.lookupInterval }
        return names
    }

    /// Applies the result of a look-up. A failed look-up changes no connection.
    /// - Parameter connected: the endpoints with an established connection.
    package mutating func take(
        _ found: HostAddresses, of name: String, connected: Set<String>, at now: Int64
    ) -> Change {
        for address in connected { lastConnected[address] = now }
        let before = addresses
        for index in routes.indices {
            guard case .host(name, let port) = routes[index].target else { continue }
            switch found {
            case .notFound(let reason): routes[index].failure = reason
            case .found(let hosts):
                routes[index].failure = nil
                take(hosts.map { "tcp://\($0):\(port)" }, at: index, now)
            }
        }
        let after = addresses
        lastConnected = lastConnected.filter { after.contains($0.key) }
        return Change(connect: after.subtracting(before).sorted(), disconnect: before.subtracting(after).sorted())
    }

    private mutating func take(_ found: [String], at index: Int, _ now: Int64) {
        for address in routes[index].addresses.subtracting(found) {
            let since = routes[index].goneSince[address] ?? now
            routes[index].goneSince[address] = since
            guard now - max(since, lastConnected[address] ?? .min) >= Self.keepInterval else { continue }
            routes[index].addresses.remove(address)
            routes[index].goneSince[address] = nil
        }
        for address in found {
            routes[index].goneSince[address] = nil
            if routes[index].addresses.count < Self.maximumAddresses { routes[index].addresses.insert(address) }
        }
        routes[index].leftOut = Set(found).subtracting(routes[index].addresses)
    }
}
