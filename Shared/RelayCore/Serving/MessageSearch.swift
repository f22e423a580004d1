import Messages

/// Finds the first message of a subject that has a sample, or what follows it: by halves, since a subject's messages are in the order
/// of its samples.
///
/// A pure value: `next` says from where on to get the next message of the subject, and `take` takes it.
package struct MessageSearch: Sendable {
    private let epoch: String
    private let sample: Int
    private var low: UInt64
    private var high: UInt64
    private var isFirst = true
    /// The first message so far that is not before the sample.
    package private(set) var found: ServedStream.Mark?

    /// - Parameter range: where it stands; messages of other epochs in there are before it.
    package init(epoch: String, sample: Int, in range: ClosedRange<UInt64>) {
        self.epoch = epoch
        self.sample = sample
        low = range.lowerBound
        high = range.upperBound + 1
    }

    /// From which number on the next message of the subject is wanted; nil when the search is over.
    package var next: UInt64? {
        guard low < high else { return nil }
        // It is most often near the beginning, where the last one was found.
        return isFirst ? low : low + (high - low) / 2
    }

    /// Takes the first message of the subject from `next` on; nil if there is none.
    package mutating func take(_ mark: ServedStream.Mark?) {
        guard let next else { return }
        isFirst = false
        guard let mark else {
            high = next
            return
        }
        if mark.place.epoch == epoch, mark.place.end > sample {
            found = mark
            high = next
        } else {
            low = mark.sequence + 1
        }
    }
}

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
