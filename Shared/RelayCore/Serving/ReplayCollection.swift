import Messages

/// Collects the messages of a subject that answer a sample request: one contiguous range.
package struct ReplayCollection: Sendable {
    private let epoch: String
    private let end: Int
    private var bytesLeft: Int
    /// The first sample collected; nil if there is none.
    package private(set) var first: Int?
    /// One past the last sample collected.
    package private(set) var next: Int
    package private(set) var frames: [[UInt8]] = []

    /// - Parameters:
    ///   - from: the first requested sample.
    ///   - count: the number of requested samples.
    ///   - maximumBytes: no further message is added after this many bytes.
    package init(epoch: String, from: Int, count: Int, maximumBytes: Int) {
        self.epoch = epoch
        next = from
        end = from.addingClamped(count)
        bytesLeft = maximumBytes
    }

    /// - Returns: whether the following message is needed.
    package mutating func add(_ message: RelayedMessage) -> Bool {
        guard let place = message.place, place.epoch == epoch, place.from < end else { return false }
        // Batches that were cut differently overlap.
        guard place.end > next else { return true }
        guard first == nil || place.from <= next else { return false }
        if first == nil { first = place.from }
        next = place.end
        for event in message.events {
            frames.append(event.body)
            if let packed = event.packed { frames.append(packed) }
            bytesLeft -= event.byteCount
        }
        return next < end && bytesLeft > 0
    }

    /// The number of samples in the frames, counted from the first one, as receivers count them.
    package var count: Int { first.map { next - $0 } ?? 0 }
}
