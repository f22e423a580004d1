import DequeModule
import Messages

/// The bounded queue of one viewer: if the viewer can't keep up, older samples are dropped for newer ones.
///
/// A pure value. A chunk that was begun is sent completely, since a partial event is useless.
package struct ViewerQueue: Sendable {
    /// Events, encoded. All viewers of the same streams share the bytes.
    package struct Chunk: Hashable, Sendable {
        /// Whole events.
        package let bytes: [UInt8]
        package let samples: Int
        /// Whether the chunk describes the current state, so that a newer one replaces it in the queue.
        package let isState: Bool
        /// Whether the chunk is sent only once, when a viewer joins, and the viewer cannot work without it.
        package let isGreeting: Bool

        package init(_ bytes: [UInt8], samples: Int = 0, isState: Bool = false, isGreeting: Bool = false) {
            self.bytes = bytes
            self.samples = samples
            self.isState = isState
            self.isGreeting = isGreeting
        }
    }

    /// Limit of waiting bytes; the newest chunk, the newest state and the greeting may exceed it.
    private let limit: Int
    private var chunks: Deque<Chunk> = []
    private var waiting = 0
    /// The chunk being sent, and how many of its bytes were.
    private var current: [UInt8] = []
    private var sent = 0
    /// Samples left out since the viewer was last notified.
    private var leftOut = 0
    /// All samples left out.
    package private(set) var samplesLeftOut = 0

    /// Makes the message that reports how many samples were left out.
    private let behind: @Sendable (Int) -> [UInt8]

    /// - Parameter behind: makes the message that reports how many samples were left out.
    package init(limit: Int, behind: @escaping @Sendable (Int) -> [UInt8] = { EventText.behind(samples: $0) }) {
        self.limit = limit
        self.behind = behind
    }

    package var isEmpty: Bool { sent == current.count && chunks.isEmpty }

    /// Bytes in memory for this viewer.
    package var byteCount: Int { waiting + current.count - sent }

    /// Adds the newest chunk, and drops the oldest if the limit is exceeded: samples first. A greeting or a state is never
    /// dropped: with many streams, one alone may exceed the limit, and nothing else carries its contents.
    package mutating func add(_ chunk: Chunk) {
        if chunk.isState, let old = chunks.firstIndex(where: \.isState) { leaveOut(old) }
        while waiting + chunk.bytes.count > limit,
            let oldest = chunks.firstIndex(where: { $0.samples > 0 })
                ?? chunks.firstIndex(where: { !$0.isState && !$0.isGreeting })
        {
            leaveOut(oldest)
        }
        chunks.append(chunk)
        waiting += chunk.bytes.count
    }

    private mutating func leaveOut(_ index: Int) {
        let chunk = chunks.remove(at: index)
        waiting -= chunk.bytes.count
        leftOut += chunk.samples
        samplesLeftOut += chunk.samples
    }

    /// Moves the next bytes to the beginning of a buffer.
    /// - Returns: how many bytes; 0 if nothing waits.
    package mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < buffer.count {
            if sent == current.count {
                guard begin() else { break }
            }
            let piece = current[sent..<min(current.count, sent + buffer.count - count)]
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: piece)
            count += piece.count
            sent += piece.count
        }
        if sent == current.count {
            // Released here; other viewers may still hold the same bytes.
            current = []
            sent = 0
        }
        return count
    }

    private mutating func begin() -> Bool {
        guard let next = chunks.first else { return false }
        sent = 0
        if leftOut > 0 {
            current = behind(leftOut)
            leftOut = 0
            return true
        }
        chunks.removeFirst()
        waiting -= next.bytes.count
        current = next.bytes
        return true
    }
}
