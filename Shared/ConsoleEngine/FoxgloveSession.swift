import ConsoleCore
import Messages
import Synchronization
import WebServer

/// A Foxglove client: the engine fills its queue and the web server empties it; its messages go to the engine.
final class FoxgloveSession: WebSocketSession {
    /// Limit of bytes that wait for a client.
    private static let limit = 1 << 20

    let feed = ViewerFeed(ViewerQueue(limit: limit) { FoxgloveText.behind(samples: $0) })
    private let over = Mutex(false)
    private let engine: ConsoleEngine
    /// The client's number in the engine.
    private let viewer: Int
    private let role: Role
    private let methods: BusMethods

    init(engine: ConsoleEngine, viewer: Int, role: Role, methods: BusMethods) {
        self.engine = engine
        self.viewer = viewer
        self.role = role
        self.methods = methods
    }

    var isEmpty: Bool { feed.isEmpty }

    var isOver: Bool { over.withLock { $0 } }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int { feed.take(into: buffer) }

    func end() { feed.end() }

    func receive(_ messages: [WebSocketReader.Message]) async {
        for message in messages {
            switch message {
            case .ping(let body): feed.add(ViewerQueue.Chunk(WebSocketFrame.pong(body)))
            case .close:
                feed.add(ViewerQueue.Chunk(WebSocketFrame.close(code: 1_000)))
                over.withLock { $0 = true }
            case .text, .binary:
                let (requests, running) = await engine.take(message, ofFoxglove: viewer)
                for request in requests { await engine.answer(request, ask(request, running), to: viewer) }
            }
        }
    }

    private func ask(_ request: FoxgloveRequest, _ running: [String]) async -> Result<[UInt8], RequestError> {
        do {
            // The recorder may be running although it was not heard for a while.
            let running = running.isEmpty ? await methods.runningSessions() : running
            let reply = try await methods.ask(request.method, try request.completed(running: running), as: role)
            return .success(try WireCoding.encode(reply))
        } catch {
            return .failure(error as? RequestError ?? .internalError("\(error)"))
        }
    }
}
