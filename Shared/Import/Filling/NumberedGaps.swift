import Files
import Messages
import Recording

/// A gap whose samples can be requested by number, and the bounds of its samples.
struct NumberedGap {
    let gap: Gap
    /// The samples that may belong to it. For a gap of unknown length, up to the next recorded one.
    var numbers: Range<Int>
    /// Samples from this time on do not belong to it, in nanoseconds since the session's start; nil if its numbers suffice.
    var latest: Int64?
    /// Whether no sample was recorded before it.
    let isFirst: Bool
    /// Whether no sample was recorded after it.
    var isLast = true
    /// Why it is impossible to determine the samples of the gap.
    var problem: String?

    /// Whether the number of missing samples is unknown.
    var isOpen: Bool { gap.count == 0 }
}

/// The gaps of a stream of a finished session, in the order of its files.
struct NumberedGaps {
    let log: SessionRecord.Log
    private(set) var gaps: [NumberedGap] = []
    private let startDate: WallTime

    var name: StreamName { StreamName(device: log.device, stream: log.stream) }

    init(
        _ log: SessionRecord.Log, of record: SessionRecord, in session: SessionDirectory
    ) throws(RecordingError) {
        self.log = log
        startDate = record.startDate
        try read(record, session)
    }

    private mutating func read(_ record: SessionRecord, _ session: SessionDirectory) throws(RecordingError) {
        var reader = try StreamReader(log, of: record, in: session)
        var hasSample = false
        /// Gaps after which no sample was found yet.
        var waiting: Range<Int> { lastClosed..<gaps.count }
        var lastClosed = 0
        while let item = try reader.next() {
            switch item {
            case .sample:
                defer { hasSample = true }
                if waiting.isEmpty { continue }
                var time = Int64.max
                reader.withSample { bytes, timestamp, _ in
                    time = FillStream.nanoseconds(UnsafeRawBufferPointer(rebasing: bytes[timestamp]))
                }
                for index in waiting {
                    gaps[index].isLast = false
                    gaps[index].latest = gaps[index].latest.map { min($0, time) }
                    end(index, before: reader.sequence, of: reader.epoch)
                }
                lastClosed = gaps.count
            case .marker(let marker, _):
                guard let marked = marker.gap, let gap = log.gaps.first(where: { $0.isAlike(marked) }) else { continue }
                for index in waiting { end(index, before: gap.from, of: gap.epoch) }
                gaps.append(place(gap, record, isFirst: !hasSample))
            case .absent:
                // The content of a removed file is unknown, except for the numbers of the missing samples.
                for index in waiting where gaps[index].isOpen { gaps[index].problem = "the file after it was removed" }
                for index in waiting { gaps[index].isLast = false }
                hasSample = true
                lastClosed = gaps.count
            }
        }
    }

    private func place(_ gap: Gap, _ record: SessionRecord, isFirst: Bool) -> NumberedGap {
        guard gap.count == 0 else {
            return NumberedGap(
                gap: gap, numbers: gap.from..<gap.from.addingClamped(gap.count), latest: nil, isFirst: isFirst)
        }
        let epoch = log.epoch(gap.epoch)
        let end = epoch?.end ?? ReceivedBatch.maximumSequence
        return NumberedGap(
            gap: gap, numbers: gap.from..<max(gap.from, end), latest: record.end(by: epoch), isFirst: isFirst)
    }

    /// Notes that a sample of an epoch follows a gap. If it is of the gap's epoch, its number is a better bound than its time.
    private mutating func end(_ index: Int, before number: Int, of epoch: String?) {
        guard gaps[index].isOpen, gaps[index].gap.epoch == epoch else { return }
        let from = gaps[index].gap.from
        gaps[index].latest = nil
        gaps[index].numbers = from..<max(from, min(gaps[index].numbers.upperBound, number))
    }

    /// Whether the publisher restarted after an epoch, so that the epoch has no further samples.
    func isOver(_ epoch: String) -> Bool { log.epochs.last?.epoch != epoch }

    /// Nanoseconds to subtract from an uptime of an epoch to get the time since the session's start; the recorder's value.
    /// - Parameter difference: how far the clock that continues in sleep is ahead at this uptime; nil if unknown. The recorder
    ///   may know of a sleep only from later samples.
    func origin(of epoch: String, at uptime: Int64, clockDifference difference: Int64?) throws(MessageError) -> Int64 {
        guard let epoch = log.epoch(epoch) else {
            throw MessageError(.malformed, "the session does not say when epoch \(epoch) began")
        }
        let start = try epoch.clock.uptime(at: startDate)
        guard var sleeps = epoch.sleeps ?? UptimeClock(epoch.clock) else { return start }
        if let difference, uptime < .max { sleeps.note(uptime: uptime, elapsed: uptime &+ difference) }
        return sleeps.origin(at: uptime, start: start)
    }
}
