/// Decides at which endpoint to ask a publisher that announces one endpoint and sends from an address: at the announced one or,
/// while it does not answer there, at the same port of the sender's address.
///
/// A publisher does not know by which of its names and addresses others reach it.
package struct ReplayRoutes: Sendable {
    private struct Route {
        var other: String
        var isOther: Bool
    }

    /// The maximum number of remembered publishers. Running ones describe themselves again within a second.
    private static let maximumCount = 4_096

    private var routes: [String: Route] = [:]

    package init() {}

    /// Records the address that a publisher sends from.
    /// - Parameters:
    ///   - announced: the endpoint in its descriptions.
    ///   - address: the IP address of their sender.
    package mutating func note(_ announced: String, heardFrom address: String) {
        // On a dual-stack socket the kernel reports IPv4 addresses as IPv6.
        let mapped = "::ffff:"
        let plain = address.hasPrefix(mapped) ? String(address.dropFirst(mapped.count)) : address
        guard announced.hasPrefix("tcp://"), let colon = announced.lastIndex(of: ":"),
            let host = EndpointTarget.numeric(plain)
        else { return }
        let other = "tcp://\(host)\(announced[colon...])"
        if other == announced {
            routes[announced] = nil
        } else if routes[announced]?.other != other {
            if routes.count >= Self.maximumCount { routes = [:] }
            // A loopback endpoint is wrong for other machines: there they may reach another program.
            routes[announced] = Route(other: other, isOther: announced.hasPrefix("tcp://127."))
        }
    }

    /// The endpoint at which to ask the publisher that announces `announced`.
    package func endpoint(for announced: String) -> String {
        guard let route = routes[announced], route.isOther else { return announced }
        return route.other
    }

    /// All endpoints at which that publisher may be reached.
    package func places(of announced: String) -> Set<String> {
        Set([announced] + (routes[announced].map { [$0.other] } ?? []))
    }

    /// Records that the publisher did not answer.
    /// - Parameter endpoint: the endpoint that was asked.
    /// - Returns: whether there is another endpoint to try.
    package mutating func noteSilence(of announced: String, at endpoint: String) -> Bool {
        guard let route = routes[announced] else { return false }
        if endpoint == (route.isOther ? route.other : announced) { routes[announced]?.isOther.toggle() }
        return true
    }
}
