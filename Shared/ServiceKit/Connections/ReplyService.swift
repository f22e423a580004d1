package import MessageBus
import ServiceLifecycle

/// Answers requests until the program shuts down.
///
/// It is the first of the parts and so stops last: health can be read, and sessions queried, while the others drain.
package struct ReplyService: Service {
    private let server: ReplyServer

    package init(server: ReplyServer) {
        self.server = server
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}
