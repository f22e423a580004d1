package import MessageBus
import ServiceLifecycle

/// Answers requests as a part of a program, until it is asked to stop.
///
/// It comes first among the parts and so stops last: health is told, and sessions can be asked for, while the others
/// still drain.
package struct ReplyService: Service {
    private let server: ReplyServer

    /// A part that answers by this server.
    package init(server: ReplyServer) {
        self.server = server
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}
