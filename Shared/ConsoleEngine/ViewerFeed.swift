import ConsoleCore
import Synchronization
import WebServer

/// The queue of one viewer: filled by the engine, emptied by the web server.
final class ViewerFeed: WebFeed {
    private struct State {
        var queue: ViewerQueue
        var isGone = false
    }

    private let state: Mutex<State>

    init(_ queue: ViewerQueue) { state = Mutex(State(queue: queue)) }

    var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

    var isGone: Bool { state.withLock { $0.isGone } }

    /// Samples left out because the viewer was slow.
    var samplesLeftOut: Int { state.withLock { $0.queue.samplesLeftOut } }

    var waitingBytes: Int { state.withLock { $0.queue.byteCount } }

    func add(_ chunk: ViewerQueue.Chunk) {
        state.withLock { if !$0.isGone { $0.queue.add(chunk) } }
    }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int { state.withLock { $0.queue.take(into: buffer) } }

    func end() { state.withLock { $0.isGone = true } }
}
