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
    /// Whether an answer said that there is no message where an earlier answer had one: that server lacks the latest messages. The
    /// search is then over, and what it found may not be the first.
    package private(set) var wasToldLess = false
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
