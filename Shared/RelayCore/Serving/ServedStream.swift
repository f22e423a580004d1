package import Messages

/// A stream as a relay knows it that serves it: what it is, how far it was published here, and where in NATS its samples stand.
package struct ServedStream: Sendable {
    /// A message of it: its number in the stream of NATS, and which samples it has.
    package struct Mark: Hashable, Sendable {
        package let sequence: UInt64
        package let place: BatchPlace

        package init(sequence: UInt64, place: BatchPlace) {
            self.sequence = sequence
            self.place = place
        }
    }

    /// One mark for so many messages.
    private static let markInterval = 64
    /// Marks in memory. If there are more, every second one goes.
    private static let maximumMarks = 2_048

    /// So many runs of the publisher are remembered that were described before.
    private static let rememberedEpochs = 64

    package private(set) var description: StreamDescription
    /// When that was published at its site.
    private var describedAt: WallTime?
    /// Runs of the publisher that were described before.
    private var pastEpochs: [String] = []
    package let site: String
    /// When the device's clock was read last, on this machine's monotonic clock.
    private(set) var readAt: Int64
    /// The last message of it that arrived of the stream of NATS, as that is now.
    package private(set) var last: Mark?
    /// Which samples were published here last, also of a stream of NATS that was deleted since.
    private(set) var published: BatchPlace?
    /// When something of it arrived, in nanoseconds since 1970.
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

    /// Forgets where its samples stand: the stream of NATS is another one, which has none of them.
    mutating func beginAnew() {
        (last, marks, unmarked, interval) = (nil, [], 0, Self.markInterval)
    }

    /// Whether a description is older than the one that is known: a relay at the site sends again what it may have sent before it was
    /// started. Of the same run both its number and its time must say so: either alone begins again where a program or a clock does.
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

    /// Continues after a run that ended in good order, mostly with another one: nothing of that was published here.
    mutating func resume(
        _ description: StreamDescription, publishedAt time: WallTime?, last: Mark?, heard: Int64, at now: Int64
    ) {
        if description.epoch != self.description.epoch { published = nil }
        describe(description, publishedAt: time, heard: heard, at: now)
        if let last { note(last, heard: heard) }
    }

    mutating func note(_ mark: Mark, heard: Int64) {
        self.heard = max(self.heard, heard)
        // What comes again is older.
        if let last, mark.sequence <= last.sequence { return }
        // What was cut anew may end before.
        if let last, last.place.epoch == mark.place.epoch, last.place.end >= mark.place.end { return }
        let isNewEpoch = last?.place.epoch != mark.place.epoch
        // An epoch's last mark says where it ends.
        if isNewEpoch, let last, marks.last != last { marks.append(last) }
        last = mark
        if isBehindPublished(mark.place) { published = mark.place }
        unmarked += 1
        guard isNewEpoch || unmarked >= interval else { return }
        unmarked = 0
        marks.append(mark)
        if marks.count > Self.maximumMarks { thin() }
    }

    /// Whether samples are behind what was published here, or of another run.
    private func isBehindPublished(_ place: BatchPlace) -> Bool {
        published.map { $0.epoch != place.epoch || $0.end < place.end } ?? true
    }

    /// Forgets every second mark, but the first and the last of each epoch.
    private mutating func thin() {
        interval *= 2
        marks = marks.enumerated().filter { index, mark in
            index.isMultiple(of: 2) || index == marks.count - 1 || marks[index - 1].place.epoch != mark.place.epoch
                || marks[index + 1].place.epoch != mark.place.epoch
        }.map(\.element)
    }

    /// The description as it is published here.
    func description(replay: String, sequence: Int, at now: Int64) -> StreamDescription {
        var current = description
        current.replay = replay
        current.sequence = sequence
        if let published, published.epoch != current.epoch { (current.epoch, current.first) = (published.epoch, nil) }
        current.nextSequence = published?.end ?? current.first ?? 0
        current.clock = current.clock.later(by: now - readAt)
        // Between here and the sensor there are servers that may be away: its silence is judged at its site.
        current.lastSample = nil
        current.retention = nil
        return current
    }

    /// Behind the last sample of an epoch that arrived here.
    /// - Returns: nil if nothing is known of the epoch.
    package func end(of epoch: String) -> Int? {
        last?.place.epoch == epoch ? last?.place.end : marks.last { $0.place.epoch == epoch }?.place.end
    }

    /// Between which messages a sample stands.
    /// - Parameter first: the first message of the stream of NATS.
    /// - Returns: nil if nothing is known of the epoch.
    package func range(of epoch: String, _ sample: Int) -> ClosedRange<UInt64>? {
        guard let last else { return nil }
        guard let firstMark = marks.firstIndex(where: { $0.place.epoch == epoch }) else { return nil }
        let lastMark = marks.lastIndex { $0.place.epoch == epoch } ?? firstMark
        let isCurrent = last.place.epoch == epoch
        var upper =
            isCurrent ? last.sequence : lastMark + 1 < marks.count ? marks[lastMark + 1].sequence : last.sequence
        // Nothing is known of what stands before the first mark.
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
