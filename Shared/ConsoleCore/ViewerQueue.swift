import DequeModule
import Messages

/// What waits to be sent to one viewer: bounded, and if it does not keep up, the newest samples win.
///
/// A pure value. A chunk that was begun is sent whole, since half an event is none.
package struct ViewerQueue: Sendable {
    /// Some events as they are sent. All viewers of the same streams share the bytes.
    package struct Chunk: Hashable, Sendable {
        /// Whole events.
        package let bytes: [UInt8]
        /// How many samples are in them.
        package let samples: Int
        /// Whether it says how things are now, so that one that waits is replaced by the next.
        package let isState: Bool
        /// Whether it is sent only once, when a viewer joins, and the viewer cannot work without it.
        package let isGreeting: Bool

        package init(_ bytes: [UInt8], samples: Int = 0, isState: Bool = false, isGreeting: Bool = false) {
            self.bytes = bytes
            self.samples = samples
            self.isState = isState
            self.isGreeting = isGreeting
        }
    }

    /// Bytes that wait, at most, and beyond them the newest chunk, the newest state and the greeting.
    private let limit: Int
    private var chunks: Deque<Chunk> = []
    private var waiting = 0
    /// What is being sent, and how much of it was.
    private var current: [UInt8] = []
    private var sent = 0
    /// Samples that were left out since the viewer was last told.
    private var leftOut = 0
    /// Samples that were left out.
    package private(set) var samplesLeftOut = 0

    /// Says that samples were left out.
    private let behind: @Sendable (Int) -> [UInt8]

    /// - Parameter behind: makes the message that reports how many samples were left out.
    package init(limit: Int, behind: @escaping @Sendable (Int) -> [UInt8] = { EventText.behind(samples: $0) }) {
        self.limit = limit
        self.behind = behind
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { sent == current.count && chunks.isEmpty }

    /// Bytes in memory for this viewer.
    package var byteCount: Int { waiting + current.count - sent }

    /// Adds what is newest, and leaves out what is oldest if there is too much: samples at first. A greeting and a state are never
    /// left out: with many streams one alone may be larger than the limit, and nothing else says what it does.
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

    /// Moves what is to be sent next to the beginning of a buffer.
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
            // Others may still send the same bytes: let go of them.
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
