import ConsoleCore
import Messages
import Synchronization
import WebServer

/// A Foxglove client: the engine fills its queue and the web server empties it; its messages go to the engine.
final class FoxgloveSession: WebSocketSession, ViewerFeed {
    /// Limit of bytes that wait for a client.
    private static let limit = 1 << 20

    private struct State {
        var queue = ViewerQueue(limit: limit) { FoxgloveText.behind(samples: $0) }
        var isGone = false
        var isOver = false
    }

    private let state = Mutex(State())
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

    var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }
    var isGone: Bool { state.withLock { $0.isGone } }
    var isOver: Bool { state.withLock { $0.isOver } }
    var samplesLeftOut: Int { state.withLock { $0.queue.samplesLeftOut } }

    var waitingBytes: Int { state.withLock { $0.queue.byteCount } }

    func add(_ chunk: ViewerQueue.Chunk) {
        state.withLock { if !$0.isGone { $0.queue.add(chunk) } }
    }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int { state.withLock { $0.queue.take(into: buffer) } }

    func end() { state.withLock { $0.isGone = true } }

    func receive(_ messages: [WebSocketReader.Message]) async {
        for message in messages {
            switch message {
            case .ping(let body): add(ViewerQueue.Chunk(WebSocketFrame.pong(body)))
            case .close:
                add(ViewerQueue.Chunk(WebSocketFrame.close(code: 1_000)))
                state.withLock { $0.isOver = true }
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
