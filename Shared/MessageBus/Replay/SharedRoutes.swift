import Synchronization

/// `ReplayRoutes` that all clients of publishers share, from any thread.
final class SharedRoutes: Sendable {
    private let routes = Mutex(ReplayRoutes())

    func note(_ announced: String, heardFrom address: String) {
        routes.withLock { $0.note(announced, heardFrom: address) }
    }

    func endpoint(for announced: String) -> String { routes.withLock { $0.endpoint(for: announced) } }

    func places(of announced: String) -> Set<String> { routes.withLock { $0.places(of: announced) } }

    func noteSilence(of announced: String, at endpoint: String) -> Bool {
        routes.withLock { $0.noteSilence(of: announced, at: endpoint) }
    }
}
