import Messages

/// Finds the last message of a publisher's run, starting at the stream's last message. Goes back run by run and finds the
/// beginning of each by binary search, since a subject's messages are in the order of the runs.
///
/// A pure value: `next` is the number from which to get the next message of the subject, and `take` takes that message. Ask the
/// leader: a replica may lack the messages of whole runs.
struct EpochSearch: Sendable {
    enum Outcome: Sendable {
        case found(ServedStream.Mark)
        /// No message of the run is stored.
        case nothing
        /// The server lacks messages that it had before.
        case toldLess
    }

    private let epoch: String
    /// A message of the run whose beginning is being searched.
    private var later: ServedStream.Mark
    /// The last message known to be before that run.
    private var earlier: ServedStream.Mark?
    private var low: UInt64 = 1
    private var high: UInt64
    private(set) var outcome: Outcome?

    /// - Parameter last: the last message of the subject.
    init(_ epoch: String, last: ServedStream.Mark) {
        self.epoch = epoch
        later = last
        high = last.sequence
        if last.place.epoch == epoch { outcome = .found(last) }
    }

    /// The number from which to get the next message of the subject; nil when there is an outcome.
    var next: UInt64? { outcome == nil ? low + (high - low) / 2 : nil }

    /// Takes the first message of the subject from `next` on; nil if there is none.
    mutating func take(_ mark: ServedStream.Mark?) {
        guard let next else { return }
        guard let mark else { return outcome = .toldLess }
        // Earlier messages may have been removed by now.
        if mark.place.epoch == later.place.epoch || mark.sequence >= later.sequence {
            high = next
        } else {
            earlier = mark
            low = mark.sequence + 1
        }
        if low >= high { finishRun() }
    }

    private mutating func finishRun() {
        guard let earlier else { return outcome = .nothing }
        if earlier.place.epoch == epoch { return outcome = .found(earlier) }
        (later, high, low) = (earlier, earlier.sequence, 1)
        self.earlier = nil
        if high == low { outcome = .nothing }
    }
}
