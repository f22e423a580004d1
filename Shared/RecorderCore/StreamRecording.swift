package import MessageBus
package import Messages
package import Recording
import ServiceKit

/// One stream of one session: asks its reorder buffer about each batch, and writes what is new into its log.
///
/// Confined to the recording engine's thread. Methods throw `MessageError` for input that can't be read, with nothing changed.
package final class StreamRecording {
    package enum Outcome {
        case written
        /// The batch waits, or brought nothing new.
        case nothing
        /// Samples are missing: request a replay.
        case recover
    }

    /// Most epochs in a session: each start of the publisher begins one.
    private static let maximumEpochs = 4_096
    /// Publishers describe their streams each second. If one restarts after a longer silence, it may have been disconnected
    /// and have published samples until it ended.
    private static let longestUnheard = TimeSpan.seconds(2)
    /// How long a run's missing samples wait for its first description.
    private static let longestUndescribed = TimeSpan.seconds(3)
    /// The longest time that samples usually take from their sensor to the recorder, including the time to fill their batch.
    private static let longestBatch = TimeSpan.seconds(1)
    /// A relay describes a stream as it last heard it, whatever happened at the stream's site since. If a stream is described as
    /// running and no batch came for this long, in nanoseconds and in sample intervals, samples may be in transit.
    private static let longestTransit = (nanoseconds: TimeSpan.seconds(10).nanoseconds, intervals: 20.0)
    /// Nanoseconds. Two of the longest pauses between its batches count as such a time too, up to this limit.
    private static let longestPauses = TimeSpan.seconds(60).nanoseconds
    /// The same for stored times, which are older: sessions are stored every ten seconds.
    private static let longestSilence = TimeSpan.seconds(20)

    package let name: StreamName
    package let log: StreamLog
    /// Whether the stream has changes that are not stored yet.
    package var isChanged = true
    package var intake: ReorderBuffer
    /// When the replay of missing samples began, on the engine's clock; nil if none is in progress.
    package var recoveringSince: Int64?
    /// The error of the last unreadable rows.
    package private(set) var lastFault: MessageError?

    /// When the last sample in the stream's files was taken, by its publisher's clock; nil before the first sample.
    package var lastSampleDate: WallTime? {
        guard let last = log.record.lastUptime, let uptime = Int64(exactly: (last * 1e9).rounded()) else { return nil }
        let origin = log.epochs[log.epoch].origin(at: uptime)
        let sinceStart = uptime.subtractingReportingOverflow(origin).partialValue
        return WallTime(seconds: log.startDate.seconds + Double(sinceStart) / 1e9)
    }

    private let held: HeldBytes
    private var sessionClock: SessionClock { log.clock }
    private var accountedBytes = 0
    private var announcedGaps = 0
    /// Since when the stream's samples are left out, on the monotonic clock; nil if they were not at the last check.
    private var leftOutAt: Int64?
    /// The names and types of the file's columns as spelled in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    /// For a stream that the session did not know at its start, until its first sample: the uptime in nanoseconds from which
    /// samples belong to the session. Stored, because the recorder may be interrupted before that sample.
    private var earliest: Int64? {
        get { log.record.earliestUptime.flatMap { Int64(exactly: ($0 * 1e9).rounded()) } }
        set { log.record.earliestUptime = newValue.map { Double($0) / 1e9 } }
    }

    /// Runs of the publisher that had ended when the session began: their samples were taken before it.
    private(set) var ended: [String] {
        get { log.record.ended ?? [] }
        set { log.record.ended = newValue.isEmpty ? nil : newValue }
    }
    /// Whether the session begins before the time of its request.
    private let isFromPast: Bool
    /// If `isFromPast`, the first sample of the first epoch that was requested.
    private var pastStart = 0
    /// When a publisher last described the stream to this process.
    private var described: Moment?

    /// Refuses descriptions that can't be a stream's.
    package static func check(_ description: StreamDescription, startDate: WallTime) throws(MessageError) {
        guard description.types.map({ $0.count == description.fields.count && $0.first == .number }) ?? true else {
            throw MessageError(.malformed, "\(description.name) does not name a type for each of its fields")
        }
        // A name with another slash in it would not be read back as the same name.
        guard !description.fields.isEmpty, StreamName(description.name.description) == description.name else {
            throw MessageError(.malformed, "\(description.name) is not a stream's name, or it names no fields")
        }
        try check(description.fields, of: description.name)
        _ = try PublisherEpoch.origin(description.clock, startDate: startDate)
    }

    private static func check(_ fields: [String], of name: StreamName) throws(MessageError) {
        guard !fields.contains(where: FieldName.isTooLong) else {
            throw MessageError(
                .outOfRange,
                "\(name) has a field whose name is longer than \(FieldName.maximumBytes) bytes; shorten it")
        }
    }

    /// Opens the log, with the publisher's current epoch. The description must have passed `check`.
    /// - Parameter first: the first sample of that epoch that belongs to the session; nil for a stream that is met during the
    ///   session: samples taken before the session's start are then left out.
    /// - Parameter formers: earlier runs of the publisher, in order. Their samples belong to the session only if it began in the
    ///   past.
    package convenience init(
        _ description: StreamDescription, from first: Int?, after formers: [FormerRun] = [], log name: LogName,
        configuration: LogConfiguration?,
        of session: Session, at now: Moment
    ) throws {
        var record = SessionRecord.Log(
            name: name, device: description.device, stream: description.stream, fields: description.fields,
            types: description.types, unit: description.unit, rate: description.rate)
        record.configure(by: configuration, in: session.record)
        self.init(record, [], current: 0, next: first ?? 0, ReorderBuffer(), of: session, at: now)
        let described = formers.compactMap { former in
            former.description.map { (description: $0, heard: former.heard) }
        }
        if isFromPast, let first = described.first {
            earliest = uptimeAtStart(by: first.description.clock, at: first.heard)
            for former in described {
                // Only a relay still has samples of an ended run. Otherwise, meeting the next run turns them into a gap, for
                // which the log must be open.
                try meet(former.description, from: firstLost(of: former.description, heard: former.heard), at: now)
                log.epochs[log.epochs.count - 1].isUnseen = true
                if log.epochs.count == 1 { open() }
            }
            try meet(description, from: 0, at: now)
        } else {
            ended = formers.map(\.epoch)
            if first == nil {
                let reading = sessionClock.reading(description.clock, at: now)
                earliest = uptimeAtStart(by: reading, at: sessionClock.date(at: now))
                pastStart = pastStart(of: description, at: sessionClock.date(at: now))
            }
            try meet(description, from: first ?? (isFromPast ? pastStart : nil), at: now)
            open()
        }
    }

    /// Opens the log at the first sample of the first epoch. A device may number its samples from another than 0.
    private func open() {
        log.next = intake.next(of: log.epochs[0].name) ?? log.next
        log.open()
    }

    /// Resumes a stream of an interrupted session.
    package convenience init(
        _ record: SessionRecord.Log, _ recovered: RecoveredLog, of session: Session, at now: Moment
    ) throws {
        var epochs = try record.epochs.map { stored in
            var epoch = try PublisherEpoch(
                stored, startDate: session.record.startDate, at: now.monotonic)
            epoch.isNoted = true
            // A later run without a rate may have been interrupted before its rate was stated.
            epoch.isRateKnown = stored.rate != nil || stored.epoch == record.epochs.first?.epoch
            return epoch
        }
        var intake = ReorderBuffer()
        for position in recovered.positions where !epochs.contains(where: { $0.name == position.epoch }) {
            if let last = epochs.last { epochs.append(PublisherEpoch(position.epoch, like: last, at: now.monotonic)) }
        }
        // Epochs whose batches only waited when the session was stopped began after its end.
        if let lastEnded = epochs.lastIndex(where: { $0.record.end != nil }) {
            let later = epochs[(lastEnded + 1)...].filter { epoch in
                recovered.positions.contains { $0.epoch == epoch.name && $0.next > epoch.record.from }
            }
            epochs.replaceSubrange((lastEnded + 1)..., with: later)
        }
        // In the order of `epochs`. The positions' order differs: their last one has the latest sample.
        for epoch in epochs {
            let next = recovered.positions.first { $0.epoch == epoch.name }?.next ?? 0
            intake.start(epoch: epoch.name, at: next, hasBegun: next > epoch.record.from)
        }
        for epoch in epochs {
            if let end = epoch.record.end { intake.end(epoch: epoch.name, before: end) }
        }
        guard let last = recovered.positions.last, let newest = epochs.map(\.record.heard).max() else {
            throw MessageError(.malformed, "log \(record.name) has no epoch")
        }
        for index in epochs.indices where epochs[index].record.end == nil && !epochs[index].isOver {
            // Each run of a publisher ended before the publisher's next one began. A run ended long ago if it was silent while
            // other runs were heard.
            let isLast = !epochs[(index + 1)...].contains { $0.record.replay == epochs[index].record.replay }
            let silence = newest.nanosecondsSince1970 - epochs[index].record.heard.nanosecondsSince1970
            if isLast, silence < Self.longestSilence.nanoseconds { epochs[index].isUnseen = true }
        }
        let current = epochs.lastIndex { $0.name == last.epoch } ?? 0
        self.init(record, epochs, current: current, next: last.next, intake, of: session, at: now)
        log.take(recovered, at: now)
        announcedGaps = gaps.count
        for index in epochs.indices { searchEnds(before: index) }
        if record.counts.written > 0 { earliest = nil }
        // The file is missing, or the session was interrupted between two files.
        if log.isClosed { log.openAgain(at: now) }
    }

    private init(
        _ record: SessionRecord.Log, _ epochs: [PublisherEpoch], current: Int, next: Int, _ intake: ReorderBuffer,
        of session: Session, at now: Moment
    ) {
        name = StreamName(device: record.device, stream: record.stream)
        self.intake = intake
        held = session.held
        isFromPast = session.record.limits.before != nil
        log = StreamLog(
            record, epochs, epoch: current, next: next, of: session.record, timeline: session.timeline(of: name),
            clock: session.clock, in: session.directory.directory, appender: session.appender, at: now)
    }

    /// The stored state of the stream.
    package var record: SessionRecord.Log { record(log.epochs) }

    private func record(_ epochs: [PublisherEpoch]) -> SessionRecord.Log {
        var record = log.record
        record.file = log.openFile
        record.epochs = epochs.map { epoch in
            var stored = epoch.record
            stored.next = max(stored.from, intake.next(of: epoch.name) ?? stored.from)
            return stored
        }
        return record
    }

    /// Writes the stream's record into the write-ahead log, ahead of data that depends on it. It includes only the epochs that
    /// changed: a stream may have thousands, and a publisher may have thousands of streams.
    private func noteChange() {
        isChanged = true
        log.appender.append(record(log.epochs.filter { !$0.isNoted }), of: log.number)
        for index in log.epochs.indices { log.epochs[index].isNoted = true }
    }

    package var gaps: [Gap] { log.record.gaps }

    /// The number of samples accounted for: those that arrived, at first delivery or by replay, and those that are lost.
    package var settled: Int { gaps.reduce(log.record.counts.received) { $0.addingClamped($1.count) } }

    /// Notes that the end is unknown of runs that may have ended while the recorder was away.
    /// - Parameter next: the publisher's description of its current run, which means that earlier ones have ended; nil once the
    ///   session is over.
    package func noteUnknownEnds(before next: StreamDescription? = nil, at date: WallTime) {
        for index in log.epochs.indices where log.epochs[index].isUnseen {
            let epoch = log.epochs[index].name
            if let next, log.epochs[index].record.replay != next.replay || epoch == next.epoch { continue }
            // Its end is still being searched for.
            if next != nil, log.epochs[index].record.isEndUnknown == true { continue }
            log.epochs[index].isUnseen = false
            noteChange()
            let reason = next == nil ? Gap.Reason.publisherUnreachable : .epochEnded
            note(Gap(epoch: epoch, from: intake.next(of: epoch) ?? 0, count: 0, reason: reason), at: date)
        }
    }

    /// Notes that a run was heard, unless the description counts more samples than have arrived.
    package func hear(_ description: StreamDescription, at now: Moment) {
        guard let index = index(of: description.epoch),
            intake.next(of: description.epoch) ?? 0 >= description.nextSequence
        else { return }
        log.epochs[index].hear(description.clock.date, isRunning: description.mayRun, at: now)
    }

    /// Notes whether the stream's samples are left out now: its publisher may be switched off meanwhile.
    package func noteLeftOut(at now: Int64) {
        leftOutAt = isLeftOut ? leftOutAt ?? now : nil
    }

    /// Whether a run's samples are left out, and the run was heard a while after that began: samples taken meanwhile are no loss.
    /// A message heard right at the beginning says nothing about samples taken just before it.
    private func isPassedOver(_ epoch: PublisherEpoch) -> Bool {
        guard isLeftOut, let leftOutAt else { return false }
        return (epoch.isRelayed ? epoch.sampledAt : epoch.heardAt) - leftOutAt >= Self.longestBatch.nanoseconds
    }

    /// Notes which runs may have published samples that are unknown here: runs that were sampling when last heard, a while ago,
    /// and whose publishers do not report an end. Call it once the session is over.
    package func noteUnheard(at now: Moment) {
        for index in log.epochs.indices {
            let epoch = log.epochs[index]
            let isLast = !log.epochs[(index + 1)...].contains { $0.record.replay == epoch.record.replay }
            guard isLast, epoch.mayRun, !epoch.isOver, !isPassedOver(epoch) else { continue }
            if isUnheard(epoch, at: now) { log.epochs[index].isUnseen = true }
        }
    }

    private func isUnheard(_ epoch: PublisherEpoch, at now: Moment) -> Bool {
        if epoch.record.end == nil, epoch.unheard(at: now) > Self.longestUnheard.nanoseconds { return true }
        // The end that a relay reports is only that of the samples it has.
        guard epoch.isRelayed, let rate = log.record.rate(of: epoch.record), rate > 0 else { return false }
        let intervals = Int64(nanosecondsIn: Self.longestTransit.intervals / rate)
        // A phone may send rarely.
        let pauses = min(Self.longestPauses, epoch.longestPause.addingClamped(epoch.longestPause))
        return now.monotonic - epoch.sampledAt > max(Self.longestTransit.nanoseconds, intervals, pauses)
    }

    /// Searches for the unknown ends of runs that were followed by another one, if a relay may still have them.
    private func searchEnds(before next: Int) {
        for index in log.epochs[..<next].indices
        where log.epochs[index].record.isEndUnknown == true
            && log.epochs[index].record.replay == log.epochs[next].record.replay
            && !intake.searchEnd(of: log.epochs[index].name)
        {
            // Too late to search: a gap marks this once the next run is described.
            log.epochs[index].isUnseen = true
            log.epochs[index].record.isEndUnknown = nil
        }
    }

    package func replayEndpoint(of epoch: String) -> String {
        log.epochs[index(of: epoch) ?? log.epochs.count - 1].record.replay
    }

    /// Whether the missing samples must not be requested yet: a description may reveal that another publisher has them.
    func isAwaitingPlace(at now: Int64) -> Bool {
        guard let epoch = intake.recovery?.epoch, let index = index(of: epoch),
            let guessedAt = log.epochs[index].placeGuessedAt
        else { return false }
        return now - guessedAt < Self.longestUndescribed.nanoseconds
    }

    private func index(of epoch: String) -> Int? { log.epochs.lastIndex { $0.name == epoch } }

    /// The publisher's uptime at the session's start, in nanoseconds.
    private func uptimeAtStart(by clock: ClockReading, at date: WallTime) -> Int64? {
        // Both clocks were read within the transit time of a message, so their difference is their offset.
        let (behind, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(
            clock.date.nanosecondsSince1970)
        guard !overflow, let start = try? PublisherEpoch.origin(clock, startDate: log.startDate) else {
            return nil
        }
        return start.subtractingClamped(max(0, behind))
    }

    /// `earliest` as it counts for samples at an uptime. If the publisher's machine slept after them, the session began as much
    /// later by their clock.
    private func sessionStart(at uptime: Int64) -> Int64? {
        let epoch = log.epochs[0]
        return earliest?.addingClamped(epoch.origin(at: uptime).subtractingClamped(epoch.start))
    }

    // MARK: The past

    /// The number of samples in a time at a rate. A publisher may report any rate.
    private static func samples(in seconds: Double, at rate: Double) -> Int { Int(min(max(0, seconds * rate), 1e15)) }

    /// The first sample to request if the session begins in the past: twice as far back as the stream's rate says, so that the
    /// publisher does not send everything it keeps.
    private func pastStart(of description: StreamDescription, at date: WallTime) -> Int {
        guard isFromPast, let rate = description.rate, rate > 0 else { return 0 }
        let seconds = date.seconds(since: log.startDate)
        return max(0, description.nextSequence - Self.samples(in: 2 * seconds, at: rate) - 1_000)
    }

    /// Notes that samples from before now are wanted.
    /// - Returns: whether they must be requested.
    func expectPast(_ description: StreamDescription) -> Bool {
        intake.expect(epoch: description.epoch, upTo: description.nextSequence)
    }

    /// The first sample of an earlier run that belongs to the session, according to the stream's rate.
    private func firstLost(of former: StreamDescription, heard: WallTime) -> Int {
        let next = former.nextSequence
        guard let rate = former.rate, rate > 0 else { return next }
        let seconds = heard.seconds(since: log.startDate)
        return max(0, next - Self.samples(in: seconds, at: rate))
    }

    /// The part of a stream's first gap that belongs to the session. The samples before that part were taken before the session
    /// began. The rate determines how many samples belong to it; without a rate, all do.
    /// - Parameter uptime: the uptime of the first sample after the gap, in nanoseconds; nil if unknown.
    private func ofSession(_ gap: Gap?, before uptime: Int64?, at now: Moment) -> Gap? {
        guard var gap, let earliest, let rate = log.record.rate(of: log.epochs[0].record), rate > 0,
            gap.epoch == log.epochs[0].name
        else { return gap }
        let span =
            uptime.map { $0.subtractingClamped(sessionStart(at: $0) ?? earliest) }
            ?? sessionClock.date(at: now).distance(from: log.startDate)
        // Unless the past was requested, a sample at the very start may belong to the session too.
        let count = min(gap.count, Self.samples(in: Double(span) / 1e9, at: rate) + (isFromPast ? 0 : 1))
        // A gap after an earlier one belongs to the session from its beginning.
        guard count < gap.count, log.record.gaps.isEmpty else { return gap }
        begin(0, at: gap.from + gap.count - count, now)
        gap.from += gap.count - count
        gap.count = count
        return count > 0 ? gap : nil
    }

    // MARK: Samples

    /// Takes a batch as it arrives.
    /// - Parameter published: when its publisher sent it, by its own clock.
    package func take(_ batch: ReceivedBatch, published: WallTime? = nil, at now: Moment) throws -> Outcome {
        guard let epoch = try epoch(of: batch, at: now) else { return .nothing }
        let body = batch.body
        log.epochs[epoch].hear(published, at: now)
        log.epochs[epoch].sample(at: now.monotonic)
        let admission = intake.admit(epoch: log.epochs[epoch].name, sequence: body.sequence, count: body.count)
        switch admission {
        case .take(let rows):
            log.record.counts.duplicates += rows.lowerBound
            try write(rows, of: batch, epoch: epoch, at: now)
            return .written
        case .duplicate:
            log.record.counts.duplicates += body.count
            return .nothing
        case .late:
            return .nothing
        case .wait, .gap:
            hold(batch, epoch: log.epochs[epoch].name)
            return admission == .gap ? .recover : .nothing
        }
    }

    /// Takes a batch that was waiting when the session was interrupted. This says nothing about its publisher's state since.
    func takeAgain(_ batch: SessionRedo.HeldBatch, at now: Moment) {
        let unseen = log.epochs.indices.filter { log.epochs[$0].isUnseen }
        let running = Set(log.epochs.filter(\.mayRun).map(\.name))
        let frames = [batch.body] + (batch.packed.map { [$0] } ?? [])
        // Unreadable batches were refused before.
        try? ReceivedBatch.forEach(inReplay: frames[...]) { batch, _ in
            _ = try take(batch, at: now)
        } unreadable: { _ in
        }
        for index in unseen { log.epochs[index].isUnseen = true }
        for index in log.epochs.indices { log.epochs[index].mayRun = running.contains(log.epochs[index].name) }
    }

    /// Keeps a batch until its turn, also in the write-ahead log. If too much waits already, its samples are requested later.
    private func hold(_ batch: ReceivedBatch, epoch: String) {
        guard held.hasRoom else {
            return intake.noteUnheld(epoch: epoch, upTo: batch.body.sequence + batch.body.count)
        }
        intake.hold(ReorderBuffer.HeldBatch(batch, epoch: epoch))
        log.appender.append(held: batch.frame, packed: batch.packed, of: log.number)
        account()
    }

    /// Writes the waiting batches into the write-ahead log again, because the part of the log that has them is about to be
    /// deleted.
    package func holdOn() {
        intake.forEachHeld { batch in
            try? batch.withBatch { log.appender.append(held: $0.frame, packed: $0.packed, of: log.number) }
        }
    }

    private func account() { held.account(for: intake, &accountedBytes) }

    /// Takes the frames of a replay: bodies, each followed by its matrix if it is packed. Samples missing before the first body
    /// are not retained; unreadable samples become a gap if a readable batch follows.
    package func takeReplayed(_ frames: ArraySlice<[UInt8]>, at now: Moment) throws {
        try ReceivedBatch.forEach(inReplay: frames) { batch, reason in
            try takeReplayed(batch, missingBefore: reason, at: now)
        } unreadable: { error in
            lastFault = error
        }
    }

    private func takeReplayed(_ batch: ReceivedBatch, missingBefore reason: Gap.Reason?, at now: Moment) throws {
        guard let epoch = try epoch(of: batch, at: now) else { return }
        let body = batch.body
        guard batch.isOf(name), intake.recovery?.epoch == log.epochs[epoch].name else {
            throw MessageError(.malformed, "a replay brought another stream's samples")
        }
        if let reason {
            try noteSleep(before: 0, of: batch, epoch: epoch)
            // The samples that are still kept may reach back to before the session. Then the samples that are not kept are not
            // the session's.
            let isOutside = try reason == .notRetained && epoch == 0 && isBeforeSession(batch)
            let lost = intake.giveUp(before: body.sequence, reason: reason)
            if isOutside {
                begin(epoch, at: body.sequence, now)
            } else {
                note(ofSession(lost, before: try batch.uptimes.first, at: now), at: now.date)
            }
        }
        let name = log.epochs[epoch].name
        guard let rows = intake.admitRecovered(epoch: name, sequence: body.sequence, count: body.count) else { return }
        try write(rows, of: batch, epoch: epoch, isRecovered: true, at: now)
    }

    /// Writes the batches that waited for a recovery, once none of its samples is missing any more.
    package func resume(at now: Moment) throws {
        defer { account() }
        while let (batch, rows) = intake.takeHeld() {
            log.record.counts.duplicates += rows.lowerBound
            if rows.isEmpty { continue }
            try batch.withBatch { batch in
                guard let epoch = try epoch(of: batch, at: now) else { return }
                try write(rows, of: batch, epoch: epoch, at: now)
            }
        }
    }

    /// Takes an answer without samples: the publisher has none of the missing ones.
    package func takeNothing(at now: Moment) throws {
        guard let index = searched else { return try giveUp(.notRetained, at: now) }
        // All of another run may be missing after this one.
        if log.epochs[index].isUnseen { return try giveUp(.epochEnded, at: now) }
        log.epochs[index].record.isEndUnknown = nil
        noteChange()
        intake.finishSearch()
        try resume(at: now)
    }

    /// The index of the epoch whose unknown end is being searched for.
    private var searched: Int? {
        intake.isSearchingEnd ? intake.recovery.flatMap { index(of: $0.epoch) } : nil
    }

    package func giveUp(_ reason: Gap.Reason, at now: Moment) throws {
        if let index = searched {
            log.epochs[index].record.isEndUnknown = nil
            log.epochs[index].isUnseen = false
            noteChange()
        }
        let behind = earliest == nil ? nil : intake.firstBehind
        let uptime = try? behind?.batch.withBatch { try $0.uptimes.dropFirst(behind?.row ?? 0).first }
        note(ofSession(intake.giveUp(reason: reason), before: uptime, at: now), at: now.date)
        try resume(at: now)
    }

    /// The index in `epochs` of a batch's epoch; a new epoch is added. A batch that is shorter than its counts say is refused,
    /// before those counts are used.
    /// - Returns: nil for a batch of a run that had ended when the session began, or that began after the session's end.
    private func epoch(of batch: ReceivedBatch, at now: Moment) throws(MessageError) -> Int? {
        try batch.check { () throws(MessageError) in
            batch.hasFields(fieldsToken) ? log.record.fields.count : try batch.fields.count
        }
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: log.epochs[log.epoch].token), !log.epochs[log.epoch].isGuessed { return log.epoch }
        let known = log.epochs.lastIndex { token.isSame(as: $0.token) } ?? respelled(token, in: batch)
        if let known, !log.epochs[known].isGuessed { return known }
        let clock = try SampleBody.clock(at: batch.body.clock, in: batch.frame)
        if let known {
            try log.epochs[known].take(sessionClock.reading(clock, at: now), startDate: log.startDate)
            return known
        }
        let name = SampleBody.string(at: batch.body.epoch, in: batch.frame)
        if ended.contains(name) || intake.hasEnd { return nil }
        followClock(to: now)
        // Until a description of the epoch arrives, which may never happen.
        let last = log.epochs[log.epochs.count - 1].record
        let new = SessionRecord.Epoch(name, clock: clock, heard: now.date, after: last)
        let index = try add(new, token: Array(token), at: now)
        noteChange()
        return index
    }

    /// The index in `epochs` of a batch's epoch if the batch spells the name differently: some publishers escape letters in JSON.
    private func respelled(_ token: UnsafeRawBufferPointer, in batch: ReceivedBatch) -> Int? {
        guard let known = index(of: SampleBody.string(at: batch.body.epoch, in: batch.frame)) else { return nil }
        log.epochs[known].token = Array(token)
        return known
    }

    private func add(
        _ epoch: SessionRecord.Epoch, token: [UInt8]? = nil, at moment: Moment
    ) throws(MessageError) -> Int {
        let now = moment.monotonic
        guard log.epochs.count < Self.maximumEpochs else {
            throw MessageError(
                .outOfRange, "\(name) has had \(log.epochs.count) epochs; no publisher restarts so often")
        }
        var placed = epoch
        placed.clock = sessionClock.reading(epoch.clock, at: moment)
        let new = try PublisherEpoch(placed, token: token, startDate: log.startDate, at: now)
        if let last = log.epochs.lastIndex(where: { $0.record.replay == epoch.replay }),
            log.epochs[last].record.end == nil, !log.epochs[last].isOver
        {
            let silence = log.epochs[last].silence(until: epoch.clock, at: now)
            if silence > Self.longestUnheard.nanoseconds { log.epochs[last].isUnseen = true }
            if log.epochs[last].isRelayed { log.epochs[last].record.isEndUnknown = true }
        }
        log.epochs.append(new)
        searchEnds(before: log.epochs.count - 1)
        return log.epochs.count - 1
    }

    /// Takes a publisher's description of the stream, with its current epoch.
    /// - Parameter first: the first sample of the epoch that belongs to the session, if the session begins now; nil for all of
    ///   the epoch.
    package func meet(_ description: StreamDescription, from first: Int?, at now: Moment) throws(MessageError) {
        followClock(to: now)
        let known = index(of: description.epoch)
        let first = max(first ?? 0, description.first ?? 0)
        let index =
            if let known { known } else {
                try add(
                    SessionRecord.Epoch(
                        epoch: description.epoch, clock: description.clock, replay: description.replay,
                        from: first, heard: now.date), at: now)
            }
        try log.epochs[index].take(sessionClock.reading(description.clock, at: now), startDate: log.startDate)
        if known == nil { intake.start(epoch: description.epoch, at: first) }
        noteUnknownEnds(before: description, at: now.date)
        let isOther = noteUnit(of: description, index, isNew: known == nil)
        // The session's record must have the epoch before the log does.
        if log.epochs[index].describe(description, at: now) || known == nil || isOther { noteChange() }
    }

    /// Notes the unit and the rate of an epoch if they are not the log's. The first ones count: samples already have that
    /// unit, and a measured rate changes slightly with each description.
    /// - Returns: whether they are new.
    private func noteUnit(of description: StreamDescription, _ index: Int, isNew: Bool) -> Bool {
        let old = log.epochs[index].record
        var (unit, rate) = (old.unit, old.rate)
        let isFirst = isNew || old.isReplayGuessed == true
        if isFirst {
            // Until now, those of the run before.
            (unit, rate) = (nil, nil)
            log.epochs[index].isRateKnown = false
        }
        if let own = description.unit, isFirst || (unit ?? log.record.unit) == nil {
            unit = own == log.record.unit ? nil : own
        }
        // A pushed stream's rate is measured first. The first run of a log without a rate stays without one.
        if let own = description.rate, !log.epochs[index].isRateKnown, index > 0 || log.record.rate != nil {
            let usual = log.record.rate ?? 0
            rate = (own - usual).magnitude > usual / 10 ? own : nil
            log.epochs[index].isRateKnown = true
        }
        if unit == old.unit, rate == old.rate { return false }
        log.epochs[index].record.unit = unit
        log.epochs[index].record.rate = rate
        // The file being written does not state them.
        if index == log.epoch { log.noteLeftOut() }
        return true
    }

    /// Keeps the times at which runs were heard comparable: from them, a restarted recorder decides how long each run was silent.
    /// If the wall clock was set since the last description, or the machine slept, earlier times move along.
    private func followClock(to now: Moment) {
        let set = described.map { now.date.distance(from: $0.date.adding(now.monotonic - $0.monotonic)) } ?? 0
        described = now
        for index in log.epochs.indices { log.epochs[index].moveHeard(by: set, until: now.date) }
    }

    /// Changes the log's columns to those of a batch that is about to be written.
    private func turn(to batch: ReceivedBatch, epoch: Int, next sequence: Int, at now: Moment) throws {
        if batch.hasFields(fieldsToken) { return }
        let (fields, types) = try (batch.fields, batch.types)
        if fields != log.record.fields || types != log.record.types {
            try Self.check(fields, of: name)
            log.change(to: fields, types, epoch: epoch, next: sequence, at: now)
            noteChange()
        }
        fieldsToken = batch.fieldsToken
    }

    private func write(
        _ rows: Range<Int>, of batch: ReceivedBatch, epoch: Int, isRecovered: Bool = false, at now: Moment
    ) throws {
        var rows = rows
        let end = rows.upperBound
        func gap(_ reason: Gap.Reason) -> Gap {
            Gap(
                epoch: log.epochs[epoch].name, from: batch.body.sequence + rows.lowerBound, count: rows.count,
                reason: reason)
        }
        guard !log.isClosed else { return note(gap(.notWritten), at: now.date) }
        do {
            try turn(to: batch, epoch: epoch, next: batch.body.sequence + rows.lowerBound, at: now)
            try noteSleep(before: rows.lowerBound, of: batch, epoch: epoch)
            if earliest != nil, epoch == 0 {
                let uptimes = try batch.uptimes.dropFirst(rows.lowerBound)
                let start = sessionStart(at: uptimes.first ?? .max) ?? .min
                let skipped = uptimes.prefix { $0 < start }.count
                rows = min(rows.lowerBound + skipped, end)..<end
                if skipped > 0 { begin(epoch, at: batch.body.sequence + rows.lowerBound, now) }
                if !rows.isEmpty { self.earliest = nil }
                let first = batch.body.sequence + rows.lowerBound
                if isFromPast, skipped == 0, pastStart > 0, first == pastStart {
                    // The stream was faster than its rate says: earlier samples may belong to the session.
                    note(Gap(epoch: log.epochs[0].name, from: first, count: 0, reason: .notRetained), at: now.date)
                }
            } else {
                // All samples of a later run belong to the session.
                earliest = nil
            }
            try log.checkText(of: rows.count)
            try log.append(rows, of: batch, epoch: epoch, isRecovered: isRecovered, at: now)
        } catch let error as MessageError {
            // The publisher would send the same rows again, so a replay would not help.
            lastFault = error
            note(gap(.malformed), at: now.date)
        }
    }

    /// Notes whether the publisher's machine slept before a row, or after it. The description at the wake may be lost, and later
    /// ones do not say when the machine woke.
    private func noteSleep(before row: Int, of batch: ReceivedBatch, epoch: Int) throws(MessageError) {
        guard let difference = batch.clockDifference, let uptime = try batch.uptime(ofRow: row), uptime < .max,
            log.epochs[epoch].noteSleep(uptime: uptime, elapsed: uptime &+ difference)
        else { return }
        noteChange()
    }

    /// Notes the first sample of an epoch that belongs to the session, while nothing of the epoch is written yet.
    private func begin(_ epoch: Int, at sequence: Int, _ now: Moment) {
        guard sequence > log.epochs[epoch].record.from else { return }
        let name = log.epochs[epoch].name
        if let lost = log.record.gaps.last(where: { $0.epoch == name && $0.count > 0 }) {
            // Samples noted as lost stay the session's, and so do the samples after them.
            let next = lost.from + lost.count
            guard next < sequence else { return }
            return note(Gap(epoch: name, from: next, count: sequence - next, reason: .notRetained), at: now.date)
        }
        log.epochs[epoch].record.from = sequence
        log.noteLeftOut()
        noteChange()
    }

    /// Notes where an epoch ends for this session: later samples are not the session's.
    package func end(_ description: StreamDescription) {
        guard let index = index(of: description.epoch) else { return }
        // An end that was reported before the recorder was interrupted stays valid.
        let end = log.epochs[index].record.end ?? description.nextSequence
        log.epochs[index].record.end = end
        log.epochs[index].record.isEndUnknown = nil
        intake.end(epoch: description.epoch, before: end)
        log.record.isEndKnown = true
        noteChange()
    }

    /// Whether a description is of a run that began after this session's end.
    package func isLater(_ description: StreamDescription) -> Bool {
        index(of: description.epoch) == nil
            && log.epochs.contains { $0.record.end != nil && $0.record.replay == description.replay }
    }

    private func isBeforeSession(_ batch: ReceivedBatch) throws(MessageError) -> Bool {
        guard let first = try batch.uptime(ofRow: 0), let start = sessionStart(at: first) else { return false }
        return first < start
    }

    // MARK: Markers

    package func note(_ gap: Gap?, at date: WallTime) {
        guard var gap else { return }
        gap.date = date
        gap.afterUptime = log.record.lastUptime
        log.record.gaps.append(gap)
        isChanged = true
        log.next = intake.next(of: log.epochs[log.epoch].name) ?? log.epochs[log.epoch].record.from
        log.mark(.gap(gap), at: date)
    }

    /// Gives the last file its final name, after the marker of the session's end.
    package func close(at now: Moment) {
        if log.record.isMarkedStopped != true { log.mark(.stop, at: sessionClock.date(at: now)) }
        log.close(at: now)
    }

    /// Whether the stream's samples are left out now: in a pause, or in a step for which the session does not want the stream.
    package var isLeftOut: Bool { log.timeline.current.isPaused }

    /// Whether the publisher's last run ended cleanly.
    var isOver: Bool { log.epochs.last?.isOver == true }

    package var hasNewGaps: Bool { announcedGaps < log.record.gaps.count }

    /// The gaps since the last call.
    package func takeNewGaps() -> ArraySlice<Gap> {
        defer { announcedGaps = gaps.count }
        return gaps[announcedGaps...]
    }
}
