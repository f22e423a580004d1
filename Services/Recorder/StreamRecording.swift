import MessageBus
import Messages
import Recording
import ServiceKit

/// One stream of one session: asks its intake about each batch, and has its log write what is new.
///
/// Confined to the recording engine's thread. Methods throw `MessageError` for what can't be read, with nothing changed,
/// and `RecordingError` where the log can't be written.
final class StreamRecording {
    /// What a batch led to.
    enum Outcome {
        /// Samples were written.
        case written
        /// It waits, or it brought nothing new.
        case nothing
        /// Samples are missing: ask for them again.
        case recover
    }

    /// Each start of the publisher during a session is one.
    private static let maximumEpochs = 4_096
    /// Publishers describe their streams each second, and sessions are stored every ten.
    private static let longestSilence = TimeSpan.seconds(20)

    let name: StreamName
    let log: StreamLog
    /// Whether epochs were met that are not stored yet.
    var hasNewEpochs = false
    /// Where the stream stands.
    var intake: StreamIntake
    /// Whether the publisher said where the stream stood when the session stopped.
    var isEndKnown = false
    /// Whether its missing samples are being asked for.
    var isRecovering = false
    /// Whether its log ends with the marker of the session's end.
    private(set) var isMarkedStopped = false

    private(set) var gaps: [Gap] = []
    /// What was wrong with the last rows that could not be read.
    private(set) var lastFault: MessageError?

    private let startDate: WallTime
    private let unit: String?
    private let rate: Double?
    private var announcedGaps = 0
    private var epochs: [PublisherEpoch]
    /// The epoch of the latest sample.
    private var current = 0
    /// The names of the file's columns as they stood in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    /// For a stream that the session did not know at its start: the uptime in nanoseconds from which samples belong to it.
    private var earliest: Int64?

    /// Refuses what can't be a stream.
    static func check(_ description: StreamDescription, startDate: WallTime) throws(MessageError) {
        // A name with another slash in it would not be read back as the same name.
        guard !description.fields.isEmpty, StreamName(description.name.description) == description.name else {
            throw MessageError(.malformed, "\(description.name) is no stream's name, or it names no fields")
        }
        _ = try PublisherEpoch.origin(description.clock, startDate: startDate)
    }

    /// Opens the log, with the epoch that the publisher is in. The description must have passed `check`.
    /// - Parameters:
    ///   - first: the first sample of that epoch that belongs to the session; nil for a stream that is met during the
    ///     session: what was sampled before the session's start is left out then.
    ///   - stepPath: the session's step at its start.
    init(
        _ description: StreamDescription, from first: Int?, log logName: LogName, stepPath: String,
        maximumHeldBytes: Int, settings: StreamLog.Settings
    ) throws {
        var epoch = try PublisherEpoch(
            description.epoch, clock: description.clock, replay: description.replay, startDate: settings.startDate)
        epoch.from = first ?? 0
        epochs = [epoch]
        name = description.name
        startDate = settings.startDate
        unit = description.unit
        rate = description.rate
        intake = StreamIntake(maximumHeldBytes: maximumHeldBytes)
        if let first { intake.start(epoch: description.epoch, at: first) }
        log = try StreamLog(logName, of: description, from: first ?? 0, stepPath: stepPath, settings: settings)
        if first == nil { earliest = Self.earliest(description, startDate: settings.startDate) }
        describe(description)
    }

    /// Goes on with a stream of a session that was cut off.
    init(
        reopening record: SessionRecord.Log, _ recovered: RecoveredLog, timeline: SessionTimeline,
        maximumHeldBytes: Int, settings: StreamLog.Settings
    ) throws {
        var known: [PublisherEpoch] = []
        intake = StreamIntake(maximumHeldBytes: maximumHeldBytes)
        for stored in record.epochs {
            known.append(try PublisherEpoch(stored, startDate: settings.startDate))
        }
        for position in recovered.positions {
            intake.start(epoch: position.epoch, at: position.next)
            if !known.contains(where: { $0.name == position.epoch }), let last = known.last {
                known.append(PublisherEpoch(position.epoch, like: last))
            }
        }
        for epoch in known {
            if let end = epoch.end { intake.end(epoch: epoch.name, before: end) }
        }
        guard let last = recovered.positions.last, let newest = known.map(\.heard).max() else {
            throw MessageError(.malformed, "log \(record.name) has no epoch")
        }
        for index in known.indices where known[index].end == nil {
            // Each run of a publisher ended before the next one of the same publisher began, and long before now where
            // it was not heard of while another was.
            let isLast = !known[(index + 1)...].contains { $0.replay == known[index].replay }
            let silence = newest.nanosecondsSince1970 - known[index].heard.nanosecondsSince1970
            known[index].isUnseen = isLast && silence < Self.longestSilence.nanoseconds
        }
        epochs = known
        current = known.lastIndex { $0.name == last.epoch } ?? 0
        name = StreamName(device: record.device, stream: record.stream)
        startDate = settings.startDate
        unit = record.unit
        rate = record.rate
        gaps = recovered.gaps
        announcedGaps = gaps.count
        isEndKnown = record.isEndKnown
        isMarkedStopped = recovered.isMarkedStopped
        if recovered.counts.written == 0 { earliest = record.earliestUptime.map { Int64(($0 * 1e9).rounded()) } }
        log = try StreamLog(
            reopening: record, recovered, epochs: known.map(\.name), origin: known[current].origin(at: .max),
            position: StreamLog.Position(epoch: current, next: last.next), stepPath: timeline.current.stepPath,
            isPaused: timeline.current.isPaused, settings: settings)
    }

    /// What the session stores of it.
    var record: SessionRecord.Log {
        var record = SessionRecord.Log(
            name: log.name, device: name.device, stream: name.stream, fields: log.fields, unit: unit, rate: rate,
            epochs: epochs.map { $0.record(next: intake.next(of: $0.name) ?? $0.from) },
            file: log.openFile, fileDate: log.fileDate, files: log.files)
        record.format = log.options.format
        record.maximumFileSize = log.options.maximumFileSize
        record.maximumFileAge = log.options.maximumFileAge
        record.earliestUptime = earliest.map { Double($0) / 1e9 }
        record.gaps = gaps
        record.counts = log.counts
        record.firstUptime = log.firstUptime
        record.lastUptime = log.lastUptime
        record.isEndKnown = isEndKnown
        record.intervals = log.intervals
        return record
    }

    /// Samples that arrived, in the first delivery or by replay.
    var received: Int { log.counts.received }

    /// Samples lost.
    var lost: Int { gaps.reduce(0) { $0.addingClamped($1.count) } }

    /// Notes what the publisher says of the stream now.
    func describe(_ description: StreamDescription) {
        guard let index = epochs.lastIndex(where: { $0.name == description.epoch }) else { return }
        // A log must not meet a session that does not know of it.
        if epochs[index].describe(description) { hasNewEpochs = true }
    }

    /// Notes what a publisher's description means for runs of it that ended while the recorder was away.
    func noteEnd(before description: StreamDescription, timeline: SessionTimeline) {
        for index in epochs.indices
        where epochs[index].isUnseen && epochs[index].replay == description.replay
            && epochs[index].name != description.epoch
        {
            noteUnknownEnd(of: index, .epochEnded, timeline: timeline)
        }
    }

    /// Notes that nobody told how far runs came that may have ended while the recorder was away.
    func noteUnknownEnds(timeline: SessionTimeline) {
        for index in epochs.indices where epochs[index].isUnseen {
            noteUnknownEnd(of: index, .publisherUnreachable, timeline: timeline)
        }
    }

    private func noteUnknownEnd(of index: Int, _ reason: Gap.Reason, timeline: SessionTimeline) {
        epochs[index].isUnseen = false
        let epoch = epochs[index].name
        note(Gap(epoch: epoch, from: intake.next(of: epoch) ?? 0, count: 0, reason: reason), timeline: timeline)
    }

    /// Where an epoch's samples can be asked for.
    func replayEndpoint(of epoch: String) -> String {
        (epochs.last { $0.name == epoch } ?? epochs[epochs.count - 1]).replay
    }

    /// Where the publishers answer that had the stream.
    var publishers: Set<String> { Set(epochs.map(\.replay)) }

    /// The uptime, in nanoseconds, from which the samples of a stream that is met during a session belong to it.
    static func earliest(_ description: StreamDescription, startDate: WallTime) -> Int64? {
        // Both clocks were read within the time that a message travels, so their difference is how far they are apart.
        let (behind, overflow) = WallTime.now.nanosecondsSince1970.subtractingReportingOverflow(
            description.clock.date.nanosecondsSince1970)
        guard !overflow, let start = try? PublisherEpoch.origin(description.clock, startDate: startDate) else {
            return nil
        }
        return start.addingClamped(-max(0, behind))
    }

    // MARK: Samples

    /// Takes a batch as it arrived.
    func take(_ batch: ReceivedBatch, timeline: SessionTimeline) throws -> Outcome {
        let epoch = try epoch(of: batch)
        try check(batch)
        let body = batch.body
        if epochs[epoch].isUnseen { epochs[epoch].isUnseen = false }
        let admission = intake.admit(epoch: epochs[epoch].name, sequence: body.sequence, count: body.count)
        switch admission {
        case .take(let rows):
            log.counts.duplicates += rows.lowerBound
            try write(rows, of: batch, epoch: epoch, timeline: timeline)
            return .written
        case .duplicate:
            log.counts.duplicates += body.count
            return .nothing
        case .late:
            return .nothing
        case .wait, .gap:
            let held = StreamIntake.HeldBatch(batch, epoch: epochs[epoch].name)
            if intake.hold(held) { return try giveUp(.heldTooMuch, timeline: timeline) }
            return admission == .gap ? .recover : .nothing
        }
    }

    /// Takes what a replay brought: bodies, each followed by its matrix where it is packed. What can't be read is a
    /// gap where a batch after it can be.
    /// - Parameter reason: why samples before the first that it brought are missing.
    func takeReplayed(_ frames: ArraySlice<[UInt8]>, missingBefore reason: Gap.Reason, timeline: SessionTimeline) throws
    {
        var reason: Gap.Reason? = reason
        try ReceivedBatch.forEach(inReplay: frames) { batch in
            try takeReplayed(batch, missingBefore: reason, timeline: timeline)
            reason = nil
        } unreadable: { error in
            lastFault = error
            reason = .malformed
        }
    }

    private func takeReplayed(
        _ batch: ReceivedBatch, missingBefore reason: Gap.Reason?, timeline: SessionTimeline
    ) throws {
        let epoch = try epoch(of: batch)
        try check(batch)
        let body = batch.body
        guard SampleBody.string(at: body.device, in: batch.frame) == name.device,
            SampleBody.string(at: body.stream, in: batch.frame) == name.stream,
            intake.recovery?.epoch == epochs[epoch].name
        else { throw MessageError(.malformed, "a replay brought another stream's samples") }
        if let reason {
            // What is still kept may reach back to before the session; then what is not kept is not the session's.
            let isOutside = try reason == .notRetained && isBeforeSession(batch)
            let lost = intake.giveUp(before: body.sequence, reason: reason)
            if isOutside { begin(epoch, at: body.sequence) } else { note(lost, timeline: timeline) }
        }
        let name = epochs[epoch].name
        guard let rows = intake.admitRecovered(epoch: name, sequence: body.sequence, count: body.count) else { return }
        let before = received
        try write(rows, of: batch, epoch: epoch, timeline: timeline)
        log.counts.recovered += received - before
    }

    /// Deals with the batches that waited for a recovery, once nothing of it is missing any more.
    func resume(timeline: SessionTimeline) throws -> Outcome {
        var outcome = Outcome.nothing
        while let batch = intake.nextHeld() {
            switch intake.admit(epoch: batch.epoch, sequence: batch.sequence, count: batch.count) {
            case .take(let rows):
                log.counts.duplicates += rows.lowerBound
                try batch.withBatch { batch in
                    try write(rows, of: batch, epoch: try epoch(of: batch), timeline: timeline)
                }
                outcome = .written
            case .duplicate:
                log.counts.duplicates += batch.count
            case .late:
                break
            case .wait, .gap:
                intake.putBack(batch)
                return .recover
            }
        }
        return outcome
    }

    /// Records that what is missing could not be had, and goes on.
    @discardableResult
    func giveUp(_ reason: Gap.Reason, timeline: SessionTimeline) throws -> Outcome {
        note(intake.giveUp(reason: reason), timeline: timeline)
        return try resume(timeline: timeline)
    }

    /// Which of `epochs` a batch is of. One that is met for the first time is added.
    private func epoch(of batch: ReceivedBatch) throws(MessageError) -> Int {
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: epochs[current].token), !epochs[current].isGuessed { return current }
        if let index = epochs.lastIndex(where: { token.isSame(as: $0.token) }) {
            if epochs[index].isGuessed {
                let clock = try SampleBody.clock(at: batch.body.clock, in: batch.frame)
                try epochs[index].take(clock, startDate: startDate)
            }
            return index
        }
        try add(
            PublisherEpoch(
                SampleBody.string(at: batch.body.epoch, in: batch.frame), token: Array(token),
                clock: try SampleBody.clock(at: batch.body.clock, in: batch.frame),
                replay: epochs[epochs.count - 1].replay, startDate: startDate))
        return epochs.count - 1
    }

    private func add(_ epoch: PublisherEpoch) throws(MessageError) {
        guard epochs.count < Self.maximumEpochs else {
            throw MessageError(.outOfRange, "\(name) has had \(epochs.count) epochs; no publisher restarts so often")
        }
        epochs.append(epoch)
        log.epochs.append(epoch.name)
        hasNewEpochs = true
    }

    /// Adds an epoch that a publisher describes, unless it is known.
    /// - Parameter first: its first sample that belongs to the session, where that begins with this.
    func meet(_ description: StreamDescription, from first: Int?, timeline: SessionTimeline) throws(MessageError) {
        noteEnd(before: description, timeline: timeline)
        if let index = epochs.lastIndex(where: { $0.name == description.epoch }) {
            try epochs[index].take(description.clock, startDate: startDate)
        } else {
            var epoch = try PublisherEpoch(
                description.epoch, clock: description.clock, replay: description.replay, startDate: startDate)
            epoch.from = first ?? 0
            try add(epoch)
            if let first { intake.start(epoch: description.epoch, at: first) }
        }
        describe(description)
    }

    /// What makes a batch's uptimes times since the session's start.
    private func origin(of batch: ReceivedBatch, epoch: Int) throws(MessageError) -> Int64 {
        guard epochs[epoch].hasSlept else { return epochs[epoch].start }
        return epochs[epoch].origin(at: try batch.uptimes.first ?? .max)
    }

    /// The same for markers: now.
    private var origin: Int64 { epochs[current].origin(at: .max) }

    /// Refuses a batch that is not as long as it says, before anything is counted by what it says.
    private func check(_ batch: ReceivedBatch) throws(MessageError) {
        try batch.check { () throws(MessageError) in
            batch.hasFields(fieldsToken) ? log.fields.count : try batch.fields.count
        }
    }

    /// Makes the log's columns those of a batch that is to be written.
    private func turn(to batch: ReceivedBatch) throws {
        if batch.hasFields(fieldsToken) { return }
        let fields = try batch.fields
        if fields != log.fields { try log.change(to: fields) }
        fieldsToken = Array(batch.frame[batch.body.fields])
    }

    private func write(_ rows: Range<Int>, of batch: ReceivedBatch, epoch: Int, timeline: SessionTimeline) throws {
        var rows = rows
        let end = rows.upperBound
        func gap(_ reason: Gap.Reason) -> Gap {
            Gap(
                epoch: epochs[epoch].name, from: batch.body.sequence + rows.lowerBound, count: rows.count,
                reason: reason)
        }
        guard !log.isClosed else { return note(gap(.notWritten), timeline: timeline) }
        do {
            try turn(to: batch)
            if let earliest {
                let skipped = try batch.uptimes.dropFirst(rows.lowerBound).prefix { $0 < earliest }.count
                rows = min(rows.lowerBound + skipped, end)..<end
                begin(epoch, at: batch.body.sequence + rows.lowerBound)
                if !rows.isEmpty { self.earliest = nil }
            }
            if !rows.isEmpty {
                try log.append(
                    rows, of: batch, epoch: epoch, origin: try origin(of: batch, epoch: epoch), timeline: timeline)
            }
            current = epoch
            isMarkedStopped = false
            log.position = StreamLog.Position(epoch: epoch, next: batch.body.sequence + end)
        } catch let error as MessageError {
            // The publisher would send the same again, so asking for it would not help.
            lastFault = error
            note(gap(.malformed), timeline: timeline)
        } catch let error as RecordingError {
            note(gap(.notWritten), timeline: timeline)
            throw error
        }
        if log.isFull { try log.flush() }
    }

    /// Notes which sample of an epoch is the first that belongs to the session.
    private func begin(_ epoch: Int, at sequence: Int) {
        guard sequence > epochs[epoch].from else { return }
        epochs[epoch].from = sequence
        hasNewEpochs = true
    }

    /// Whether a description is of a run that began after this session's end.
    func isLater(_ description: StreamDescription) -> Bool {
        !epochs.contains { $0.name == description.epoch }
            && epochs.contains { $0.end != nil && $0.replay == description.replay }
    }

    /// Notes where an epoch ends for this session: samples from then on are not its own.
    func end(_ description: StreamDescription) {
        guard let index = epochs.lastIndex(where: { $0.name == description.epoch }) else { return }
        // Where it was said before the recorder was cut off, that holds.
        let end = epochs[index].end ?? description.nextSequence
        epochs[index].end = end
        intake.end(epoch: description.epoch, before: end)
        isEndKnown = true
        hasNewEpochs = true
    }

    /// How far the stream has come.
    private var position: StreamLog.Position {
        StreamLog.Position(
            epoch: current, next: intake.next(of: epochs[current].name) ?? epochs[current].from)
    }

    private func isBeforeSession(_ batch: ReceivedBatch) throws(MessageError) -> Bool {
        guard let earliest, let first = try batch.uptimes.first else { return false }
        return first < earliest
    }

    // MARK: Markers

    /// Adds a marker to the log.
    /// - Parameters:
    ///   - date: when it happened, on the recorder's clock.
    ///   - stepPath: the step after it.
    func mark(_ event: Marker.Event, at date: WallTime, stepPath: String) {
        guard !log.isClosed else { return }
        log.mark(event, at: date, origin: origin, stepPath: stepPath)
        isMarkedStopped = event == .stop
    }

    /// Records a gap, in the log and for the report.
    func note(_ gap: Gap?, timeline: SessionTimeline) {
        guard var gap else { return }
        gap.date = .now
        gap.afterUptime = log.lastUptime
        gaps.append(gap)
        mark(.gap(gap), at: .now, stepPath: timeline.current.stepPath)
        log.position = position
    }

    /// Gives up what is in memory, because it can't be written. What is known of that may find room.
    func abandon(timeline: SessionTimeline) {
        isMarkedStopped = false
        let (lost, marked) = log.abandon()
        for gap in marked { mark(.gap(gap), at: gap.date ?? .now, stepPath: timeline.current.stepPath) }
        for gap in lost { note(gap, timeline: timeline) }
    }

    /// Gives the last file its final name, with the marker of the session's end where there is room for it.
    func close(at date: WallTime, timeline: SessionTimeline) throws(RecordingError) {
        guard !log.isClosed else { return }
        if !isMarkedStopped { mark(.stop, at: date, stepPath: timeline.current.stepPath) }
        do {
            try log.close()
        } catch {
            // It finds no room. What is on disk gets its final name all the same.
            abandon(timeline: timeline)
            mark(.stop, at: date, stepPath: timeline.current.stepPath)
            do {
                try log.close()
            } catch {
                _ = log.abandon()
                isMarkedStopped = false
                try log.close()
            }
            throw error
        }
    }

    /// Whether there are gaps that `takeNewGaps` has not told yet.
    var hasNewGaps: Bool { announcedGaps < gaps.count }

    /// The gaps since this was asked last.
    func takeNewGaps() -> ArraySlice<Gap> {
        defer { announcedGaps = gaps.count }
        return gaps[announcedGaps...]
    }
}
