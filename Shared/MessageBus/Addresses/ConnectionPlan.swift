/// Decides what a subscriber is connected to: everything that its endpoints lead to, each address once, as names and their
/// addresses come and go.
///
/// A pure value: look-ups and connections are made by others. Instants are nanoseconds of one monotonic clock.
package struct ConnectionPlan: Sendable {
    /// What is to be done with a socket.
    package struct Change: Hashable, Sendable {
        package var connect: [String] = []
        package var disconnect: [String] = []

        package init(connect: [String] = [], disconnect: [String] = []) {
            self.connect = connect
            self.disconnect = disconnect
        }
    }

    /// An endpoint that something was asked to listen to, and what it leads to.
    package struct Route: Hashable, Sendable {
        /// The endpoint as it was asked.
        package let endpoint: String
        package let target: EndpointTarget
        /// The endpoints with numeric addresses that it leads to.
        package fileprivate(set) var addresses: Set<String> = []
        /// Since when the name's answers lack addresses.
        fileprivate var goneSince: [String: Int64] = [:]
        /// Why the last look-up found nothing.
        package fileprivate(set) var failure: String?
    }

    /// How often names are looked up.
    package static let lookupInterval: Int64 = 5_000_000_000
    /// How long an address that its name has lost is kept, and kept on after its connection ended: answers may be
    /// incomplete, and what ends may have something to send.
    package static let keepInterval: Int64 = 30_000_000_000
    /// Addresses of one name. Each is a connection that is tried again and again.
    package static let maximumAddresses = 256

    package private(set) var routes: [Route]
    /// The names that are looked up.
    package let names: [String]
    /// When each name is looked up next.
    private var due: [String: Int64] = [:]
    /// When each address was seen connected last.
    private var lastConnected: [String: Int64] = [:]

    /// Everything that the endpoints lead to.
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

    /// Everything that it says to be connected to.
    package var addresses: Set<String> { routes.reduce(into: []) { $0.formUnion($1.addresses) } }

    /// The names that are to be looked up now. They are not due again before an answer, or the interval after this.
    package mutating func takeDue(at now: Int64) -> [String] {
        let names = due.filter { $0.value <= now }.keys.sorted()
        for name in names { due[name] = now + Self.lookupInterval }
        return names
    }

    /// Takes what a look-up found. One that failed changes nothing.
    /// - Parameter connected: the endpoints whose other side is there.
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
    }
}
