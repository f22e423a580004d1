package import Messages

/// A stream as a serving relay knows it: its description, how far it was published here, and the NATS messages of its samples.
package struct ServedStream: Sendable {
    /// A message of the stream: its number in the NATS stream, and its range of samples.
    package struct Mark: Hashable, Sendable {
        package let sequence: UInt64
        package let place: BatchPlace

        package init(sequence: UInt64, place: BatchPlace) {
            self.sequence = sequence
            self.place = place
        }
    }

    /// The initial number of messages per mark.
    private static let markInterval = 64
    /// The maximum number of marks in memory.
    private static let maximumMarks = 2_048

    /// The maximum number of past publisher runs remembered.
    private static let rememberedEpochs = 64

    package private(set) var description: StreamDescription
    /// When the description was published at its site.
    private var describedAt: WallTime?
    private var pastEpochs: [String] = []
    package let site: String
    /// When the device's clock was last read, on this machine's monotonic clock.
    private(set) var readAt: Int64
    /// The stream's last message received from the current NATS stream.
    package private(set) var last: Mark?
    /// The samples last published here, including those from a NATS stream that was deleted since.
    private(set) var published: BatchPlace?
    /// When anything of the stream last arrived, in nanoseconds since 1970.
    package private(set) var heard: Int64
    private var marks: [Mark] = []
    private var unmarked = 0
    private var interval = ServedStream.markInterval

    /// - Parameter time: when the description was published at its site.
    init(
        _ description: StreamDescription, publishedAt time: WallTime?, of site: String, last: Mark?, heard: Int64,
        at now: Int64
    ) {
        self.description = description
        describedAt = time
        self.site = site
        readAt = now
        self.last = last
        published = last?.place
        self.heard = heard
        if let last { marks = [last] }
    }

    /// Forgets the messages of the stream: the NATS stream was replaced and has none of them.
    mutating func beginAnew() {
        (last, marks, unmarked, interval) = (nil, [], 0, Self.markInterval)
    }

    /// Whether a description is older than the current one: a restarted relay at the site may repeat descriptions. In the same
    /// run, both the sequence number and the time must be older, because a restarted program resets the number and a reset clock
    /// the time.
    func hasLeft(_ description: StreamDescription, publishedAt time: WallTime?) -> Bool {
        guard description.epoch == self.description.epoch else { return pastEpochs.contains(description.epoch) }
        if self.description.over == true {
            // A device that numbers its samples itself continues its run when its publisher restarts.
            if description.nextSequence > self.description.nextSequence { return false }
            return time.flatMap { time in describedAt.map { time <= $0 } } ?? true
        }
        guard let time, let describedAt else { return false }
        return description.sequence < self.description.sequence && time < describedAt
    }

    mutating func describe(_ description: StreamDescription, publishedAt time: WallTime?, heard: Int64, at now: Int64) {
        if description.epoch != self.description.epoch {
            if pastEpochs.count == Self.rememberedEpochs { pastEpochs.removeFirst() }
            pastEpochs.append(self.description.epoch)
        }
        self.description = description
        describedAt = time
        readAt = now
        self.heard = max(self.heard, heard)
    }

    /// Continues after a run that ended normally. Usually a new run follows, and nothing of it was published here.
    mutating func resume(
        _ description: StreamDescription, publishedAt time: WallTime?, last: Mark?, heard: Int64, at now: Int64
    ) {
        if description.epoch != self.description.epoch { published = nil }
        describe(description, publishedAt: time, heard: heard, at: now)
        if let last { note(last, heard: heard) }
    }

    mutating func note(_ mark: Mark, heard: Int64) {
        self.heard = max(self.heard, heard)
        // Redelivered messages are older.
        if let last, mark.sequence <= last.sequence { return }
        // A batch that was cut differently may end earlier.
        if let last, last.place.epoch == mark.place.epoch, last.place.end >= mark.place.end { return }
        let isNewEpoch = last?.place.epoch != mark.place.epoch
        // The last mark of an epoch shows where the epoch ends.
        if isNewEpoch, let last, marks.last != last { marks.append(last) }
        last = mark
        if isBehindPublished(mark.place) { published = mark.place }
        unmarked += 1
        guard isNewEpoch || unmarked >= interval else { return }
        unmarked = 0
        marks.append(mark)
        if marks.count > Self.maximumMarks { thin() }
    }

    /// Whether samples follow those published here, or belong to another run.
    private func isBehindPublished(_ place: BatchPlace) -> Bool {
        published.map { $0.epoch != place.epoch || $0.end < place.end } ?? true
    }

    /// Drops every second mark, but keeps the first and the last of each epoch. If there are too many epochs for that, drops the
    /// oldest quarter too: those epochs are then unknown, like those that ended before this program started.
    private mutating func thin() {
        let kept = marks.enumerated().filter { index, mark in
            index.isMultiple(of: 2) || index == marks.count - 1 || marks[index - 1].place.epoch != mark.place.epoch
                || marks[index + 1].place.epoch != mark.place.epoch
        }.map(\.element)
        if kept.count > Self.maximumMarks / 4 * 3 {
            marks = Array(kept.dropFirst(kept.count / 4))
        } else {
            interval *= 2
            marks = kept
        }
    }

    func description(replay: String, sequence: Int, at now: Int64) -> StreamDescription {
        var current = description
        current.replay = replay
        current.sequence = sequence
        if let published, published.epoch != current.epoch { (current.epoch, current.first) = (published.epoch, nil) }
        current.nextSequence = published?.end ?? current.first ?? 0
        current.clock = current.clock.later(by: now - readAt)
        // Unavailable servers between here and the sensor would look like a silent sensor, so silence is judged only at the site.
        current.lastSample = nil
        current.retention = nil
        return current
    }

    /// One past the last sample of an epoch that arrived here.
    /// - Returns: nil if the epoch is unknown.
    package func end(of epoch: String) -> Int? {
        last?.place.epoch == epoch ? last?.place.end : marks.last { $0.place.epoch == epoch }?.place.end
    }

    /// The messages among which a sample is stored.
    /// - Returns: nil if the epoch is unknown.
    package func range(of epoch: String, _ sample: Int) -> ClosedRange<UInt64>? {
        guard let last else { return nil }
        guard let firstMark = marks.firstIndex(where: { $0.place.epoch == epoch }) else { return nil }
        let lastMark = marks.lastIndex { $0.place.epoch == epoch } ?? firstMark
        let isCurrent = last.place.epoch == epoch
        var upper =
            isCurrent ? last.sequence : lastMark + 1 < marks.count ? marks[lastMark + 1].sequence : last.sequence
        // The messages before the first mark are unknown.
        var lower: UInt64 = 1
        for mark in marks[firstMark...lastMark] {
            if mark.place.from <= sample {
                lower = mark.sequence
            } else {
                upper = min(upper, mark.sequence)
                break
            }
        }
        return min(lower, upper)...upper
    }
}
