import MessageBus
import ServiceLifecycle

/// Answers requests as a part of a program, until it is told to stop.
///
/// It comes first among the parts and so stops last: health is told, and sessions can be asked for, while the others
/// still drain.
struct ReplyService: Service {
    let server: ReplyServer

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}
