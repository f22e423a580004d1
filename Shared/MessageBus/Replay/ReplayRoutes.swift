/// Decides where a publisher is asked that announces one endpoint and is heard from an address: there where it announces, or,
/// while it does not answer there, at the same port of the address that it is heard from.
///
/// A publisher does not know which of its names and addresses others reach it by.
package struct ReplayRoutes: Sendable {
    private struct Route {
        var other: String
        var isOther: Bool
    }

    /// Publishers that are remembered. Those that are there describe themselves again within a second.
    private static let maximumCount = 4_096

    private var routes: [String: Route] = [:]

    package init() {}

    /// Notes where a publisher is heard from.
    /// - Parameters:
    ///   - announced: the endpoint that its descriptions name.
    ///   - address: the IP address of their sender.
    package mutating func note(_ announced: String, heardFrom address: String) {
        // The kernel says IPv4 as IPv6 where a socket speaks both.
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
            // Who announces the loopback interface to others is mistaken; on their own they may meet somebody else.
            routes[announced] = Route(other: other, isOther: announced.hasPrefix("tcp://127."))
        }
    }

    /// Where to ask the publisher that announces an endpoint.
    package func endpoint(for announced: String) -> String {
        guard let route = routes[announced], route.isOther else { return announced }
        return route.other
    }

    /// All places where to ask that publisher.
    package func places(of announced: String) -> Set<String> {
        Set([announced] + (routes[announced].map { [$0.other] } ?? []))
    }

    /// Notes that nobody answered.
    /// - Parameter endpoint: where it was asked.
    /// - Returns: whether there is another place to ask.
    package mutating func noteSilence(of announced: String, at endpoint: String) -> Bool {
        guard let route = routes[announced] else { return false }
        if endpoint == (route.isOther ? route.other : announced) { routes[announced]?.isOther.toggle() }
        return true
    }
}
