import Messages

/// Finds the first message of a subject that contains a sample or follows it. Uses binary search, since a subject's messages are
/// in sample order.
///
/// A pure value: `next` is the number from which to get the next message of the subject, and `take` takes that message.
package struct MessageSearch: Sendable {
    private let epoch: String
    private let sample: Int
    private var low: UInt64
    private var high: UInt64
    private var isFirst = true
    /// Whether a server had no message where an earlier reply had one: that server lacks the latest messages. The search is then
    /// over, and `found` may not be the first message.
    package private(set) var wasToldLess = false
    /// The first message found so far that is not before the sample.
    package private(set) var found: ServedStream.Mark?

    /// - Parameter range: the numbers to search; messages of other epochs in it count as earlier.
    package init(epoch: String, sample: Int, in range: ClosedRange<UInt64>) {
        self.epoch = epoch
        self.sample = sample
        low = range.lowerBound
        high = range.upperBound + 1
    }

    /// The number from which to get the next message of the subject; nil when the search is over.
    package var next: UInt64? {
        guard low < high else { return nil }
        // The message is usually near the beginning, where the last one was found.
        return isFirst ? low : low + (high - low) / 2
    }

    /// Takes the first message of the subject from `next` on; nil if there is none.
    package mutating func take(_ mark: ServedStream.Mark?) {
        guard let next else { return }
        isFirst = false
        guard let mark else {
            wasToldLess = found != nil
            high = wasToldLess ? low : next
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
