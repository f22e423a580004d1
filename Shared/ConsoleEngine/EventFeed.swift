import ConsoleCore
import Synchronization
import WebServer

/// The engine's side of a viewer's queue.
protocol ViewerFeed: AnyObject, Sendable {
    var isGone: Bool { get }
    /// Samples left out because the viewer was slow.
    var samplesLeftOut: Int { get }
    var waitingBytes: Int { get }
    func add(_ chunk: ViewerQueue.Chunk)
}

/// The event queue of one viewer: filled by the engine, emptied by the web server.
final class EventFeed: WebFeed, ViewerFeed {
    /// Limit of bytes that wait for a viewer: about a second of a hundred streams.
    private static let limit = 512 << 10

    private let queue = Mutex(ViewerQueue(limit: limit))
    private let gone = Mutex(false)

    var isEmpty: Bool { queue.withLock { $0.isEmpty } }

    var isGone: Bool { gone.withLock { $0 } }

    var samplesLeftOut: Int { queue.withLock { $0.samplesLeftOut } }

    var waitingBytes: Int { queue.withLock { $0.byteCount } }

    func add(_ chunk: ViewerQueue.Chunk) {
        if !isGone { queue.withLock { $0.add(chunk) } }
    }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int { queue.withLock { $0.take(into: buffer) } }

    func end() { gone.withLock { $0 = true } }
}
