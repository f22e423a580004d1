import Messages

/// Collects the messages of a subject that answer a request for samples: one range without holes.
package struct ReplayCollection: Sendable {
    private let epoch: String
    private let end: Int
    private var bytesLeft: Int
    /// The first sample in it; nil if it is empty.
    package private(set) var first: Int?
    /// Behind the last one.
    package private(set) var next: Int
    package private(set) var frames: [[UInt8]] = []

    /// - Parameters:
    ///   - from: the first sample that is wanted.
    ///   - count: how many are.
    ///   - maximumBytes: after so many no further message is added.
    package init(epoch: String, from: Int, count: Int, maximumBytes: Int) {
        self.epoch = epoch
        next = from
        end = from.addingClamped(count)
        bytesLeft = maximumBytes
    }

    /// Adds a message.
    /// - Returns: whether the one after it is wanted.
    package mutating func add(_ message: RelayedMessage) -> Bool {
        guard let place = message.place, place.epoch == epoch, place.from < end else { return false }
        // Batches that were cut anew overlap.
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

    /// How many samples the frames hold, as those who take them count: from the first one on.
    package var count: Int { first.map { next - $0 } ?? 0 }
}
