package import MessageBus
package import Messages
package import Recording
import ServiceKit

/// One stream of one session: asks its intake about each batch, and has its log write what is new.
///
/// Confined to the recording engine's thread. Methods throw `MessageError` for what can't be read, with nothing changed.
package final class StreamRecording {
    package enum Outcome {
        case written
        /// It waits, or it brought nothing new.
        case nothing
        /// Samples are missing: ask for them again.
        case recover
    }

    /// Each start of the publisher during a session is one.
    private static let maximumEpochs = 4_096
    /// Publishers describe their streams each second. If one restarts after a longer silence, it may have been disconnected
    /// and have published samples until it ended.
    private static let longestUnheard = TimeSpan.seconds(2)
    /// How long samples usually take at most from their sensor to the recorder, with the time in which their batch fills.
    private static let longestBatch = TimeSpan.seconds(1)
    /// A relay describes a stream as it heard of it last, whatever became of its site: a stream that is described as running, and of
    /// which nothing came for so long, in nanoseconds and in its intervals, may have had samples that are on their way.
    private static let longestTransit = (nanoseconds: TimeSpan.seconds(10).nanoseconds, intervals: 20.0)
    /// Two of the longest pauses between its batches count as such a time too, up to this, in nanoseconds.
    private static let longestPauses = TimeSpan.seconds(60).nanoseconds
    /// The same as sessions have it, which are stored every ten seconds.
    private static let longestSilence = TimeSpan.seconds(20)

    package let name: StreamName
    package let log: StreamLog
    /// Whether something was noted of it that is not stored yet.
    package var isChanged = true
    package var intake: ReorderBuffer
    /// When the replay of its missing samples began, on the engine's clock; nil if none is under way.
    package var recoveringSince: Int64?
    /// What was wrong with the last rows that could not be read.
    package private(set) var lastFault: MessageError?

    /// When the last sample was taken that its files have, by its publisher's clock; nil before the first.
    package var lastSampleDate: WallTime? {
        guard let last = log.record.lastUptime, let uptime = Int64(exactly: (last * 1e9).rounded()) else { return nil }
        let origin = log.epochs[log.epoch].origin(at: uptime)
        let sinceStart = uptime.subtractingReportingOverflow(origin).partialValue
        return WallTime(seconds: log.startDate.seconds + Double(sinceStart) / 1e9)
    }

    private let held: HeldBytes
    private var accountedBytes = 0
    private var announcedGaps = 0
    /// Since when its samples are left out, on the monotonic clock; nil if they are not, or were not when that was looked at last.
    private var leftOutAt: Int64?
    /// The names and types of the file's columns as they stood in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    /// For a stream that the session did not know at its start, until its first sample: the uptime in nanoseconds from which
    /// samples belong to it. Stored, for the recorder may be interrupted before.
    private var earliest: Int64? {
        get { log.record.earliestUptime.flatMap { Int64(exactly: ($0 * 1e9).rounded()) } }
        set { log.record.earliestUptime = newValue.map { Double($0) / 1e9 } }
    }

    /// Runs of the publisher that had ended when the session began: what still arrives of them was sampled before.
    private(set) var ended: [String] {
        get { log.record.ended ?? [] }
        set { log.record.ended = newValue.isEmpty ? nil : newValue }
    }
    /// Whether the session began before it was asked for.
    private let isFromPast: Bool
    /// Of such a session, the first sample that was asked for of the first epoch.
    private var pastStart = 0
    /// When a publisher last described the stream to this process.
    private var described: Moment?

    /// Refuses what can't be a stream.
    package static func check(_ description: StreamDescription, startDate: WallTime) throws(MessageError) {
        // A name with another slash in it would not be read back as the same name.
        guard description.types.map({ $0.count == description.fields.count && $0.first == .number }) ?? true else {
            throw MessageError(.malformed, "\(description.name) does not name a type for each of its fields")
        }
        guard !description.fields.isEmpty, StreamName(description.name.description) == description.name else {
            throw MessageError(.malformed, "\(description.name) is not a stream's name, or it names no fields")
        }
        _ = try PublisherEpoch.origin(description.clock, startDate: startDate)
    }

    /// Opens the log, with the epoch that the publisher is in. The description must have passed `check`.
    /// - Parameter first: the first sample of that epoch that belongs to the session; nil for a stream that is met during
    ///   the session: what was sampled before the session's start is left out then.
    /// - Parameter formers: the runs of the publisher before that, in their order. What they sampled is the session's if that began
    ///   in the past, and is not otherwise.
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
        if isFromPast, !formers.isEmpty {
            if let first = formers.first { earliest = uptimeAtStart(by: first.description, at: first.heard) }
            for former in formers {
                // Only a relay still has samples of an ended run. Otherwise meeting the next run makes them a gap, for which the log
                // must be open.
                try meet(former.description, from: firstLost(of: former), at: now)
                log.epochs[log.epochs.count - 1].isUnseen = true
                if log.epochs.count == 1 { log.open() }
            }
            try meet(description, from: 0, at: now)
        } else {
            ended = formers.map(\.description.epoch)
            if first == nil {
                earliest = uptimeAtStart(by: description, at: now.date)
                pastStart = pastStart(of: description, at: now.date)
            }
            try meet(description, from: first ?? (isFromPast ? pastStart : nil), at: now)
            log.open()
        }
    }

    /// Continues a stream of an interrupted session.
    package convenience init(
        _ record: SessionRecord.Log, _ recovered: RecoveredLog, of session: Session, at now: Moment
    ) throws {
        var epochs = try record.epochs.map { stored in
            var epoch = try PublisherEpoch(
                stored, startDate: session.record.startDate, at: now.monotonic)
            epoch.isNoted = true
            return epoch
        }
        var intake = ReorderBuffer()
        for position in recovered.positions where !epochs.contains(where: { $0.name == position.epoch }) {
            if let last = epochs.last { epochs.append(PublisherEpoch(position.epoch, like: last)) }
        }
        // What only waited when the session was stopped began after its end.
        if let lastEnded = epochs.lastIndex(where: { $0.record.end != nil }) {
            let later = epochs[(lastEnded + 1)...].filter { epoch in
                recovered.positions.contains { $0.epoch == epoch.name && $0.next > epoch.record.from }
            }
            epochs.replaceSubrange((lastEnded + 1)..., with: later)
        }
        // In their order: that of the positions is one in which the last one has the latest sample.
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
            // Each run of a publisher ended before the next one of the same publisher began, and long before now where
            // it was not heard of while another was.
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
            in: session.directory.directory, appender: session.appender, at: now)
    }

    /// What the session stores of it.
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

    /// Writes what the session knows of it into the write-ahead log, ahead of what depends on that. Of its epochs only those
    /// that changed: a stream may have thousands, and a publisher may have thousands of streams.
    private func noteChange() {
        isChanged = true
        log.appender.append(record(log.epochs.filter { !$0.isNoted }), of: log.number)
        for index in log.epochs.indices { log.epochs[index].isNoted = true }
    }

    package var gaps: [Gap] { log.record.gaps }

    /// Samples that were dealt with: those that arrived, in the first delivery or by replay, and those that are lost.
    package var settled: Int { gaps.reduce(log.record.counts.received) { $0.addingClamped($1.count) } }

    /// Notes that nobody told how far runs came that may have ended while the recorder was away.
    /// - Parameter next: what a publisher says of its present run, which means that those before it have ended; nil once
    ///   the session is over.
    package func noteUnknownEnds(before next: StreamDescription? = nil, at date: WallTime) {
        for index in log.epochs.indices where log.epochs[index].isUnseen {
            let epoch = log.epochs[index].name
            if let next, log.epochs[index].record.replay != next.replay || epoch == next.epoch { continue }
            // Once that is over.
            if next != nil, log.epochs[index].record.isEndUnknown == true { continue }
            log.epochs[index].isUnseen = false
            noteChange()
            let reason = next == nil ? Gap.Reason.publisherUnreachable : .epochEnded
            note(Gap(epoch: epoch, from: intake.next(of: epoch) ?? 0, count: 0, reason: reason), at: date)
        }
    }

    /// Notes that something was heard of a run, unless that says that more was published than has come.
    package func hear(_ description: StreamDescription, at now: Moment) {
        guard let index = index(of: description.epoch),
            intake.next(of: description.epoch) ?? 0 >= description.nextSequence
        else { return }
        log.epochs[index].hear(description.clock.date, isRunning: description.mayRun, at: now)
    }

    /// Notes whether its samples are left out now: its publisher may be switched off meanwhile.
    package func noteLeftOut(at now: Int64) {
        leftOutAt = isLeftOut ? leftOutAt ?? now : nil
    }

    /// Whether samples of a run are left out, and it was heard a while after that began: what it takes meanwhile is no loss. What was
    /// heard right then says nothing of samples that were taken just before.
    private func isPassedOver(_ epoch: PublisherEpoch) -> Bool {
        guard isLeftOut, let leftOutAt else { return false }
        return (epoch.isRelayed ? epoch.sampledAt : epoch.heardAt) - leftOutAt >= Self.longestBatch.nanoseconds
    }

    /// Notes which runs may have had samples of which nothing is known: those that sampled when they were heard last, if that was
    /// a while ago, and whose publishers do not say how far they came. Once the session is over.
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
        // What a relay says of the end is only what it has.
        guard epoch.isRelayed, let rate = log.record.rate, rate > 0 else { return false }
        let intervals = Int64(nanosecondsIn: Self.longestTransit.intervals / rate)
        // A phone may send seldom.
        let pauses = min(Self.longestPauses, epoch.longestPause.addingClamped(epoch.longestPause))
        return now.monotonic - epoch.sampledAt > max(Self.longestTransit.nanoseconds, intervals, pauses)
    }

    /// Has the unknown ends of runs asked for that a run followed, where a relay may still have them.
    private func searchEnds(before next: Int) {
        for index in log.epochs[..<next].indices
        where log.epochs[index].record.isEndUnknown == true
            && log.epochs[index].record.replay == log.epochs[next].record.replay
            && !intake.searchEnd(of: log.epochs[index].name)
        {
            // It is too late for that: a gap says so once the next run is described.
            log.epochs[index].isUnseen = true
            log.epochs[index].record.isEndUnknown = nil
        }
    }

    package func replayEndpoint(of epoch: String) -> String {
        log.epochs[index(of: epoch) ?? log.epochs.count - 1].record.replay
    }

    private func index(of epoch: String) -> Int? { log.epochs.lastIndex { $0.name == epoch } }

    /// The uptime, in nanoseconds, at the session's start.
    private func uptimeAtStart(by description: StreamDescription, at date: WallTime) -> Int64? {
        // Both clocks were read within the time that a message travels, so their difference is how far they are apart.
        let (behind, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(
            description.clock.date.nanosecondsSince1970)
        guard !overflow, let start = try? PublisherEpoch.origin(description.clock, startDate: log.startDate) else {
            return nil
        }
        return start.subtractingClamped(max(0, behind))
    }

    // MARK: The past

    /// How many samples a time has at a rate, which may be anything that a publisher says.
    private static func samples(in seconds: Double, at rate: Double) -> Int { Int(min(max(0, seconds * rate), 1e15)) }

    /// The first sample to ask for of a session that begins in the past: twice as far back as the stream's rate says, so that
    /// not everything is sent that a publisher keeps.
    private func pastStart(of description: StreamDescription, at date: WallTime) -> Int {
        guard isFromPast, let rate = description.rate, rate > 0 else { return 0 }
        let seconds = date.seconds(since: log.startDate)
        return max(0, description.nextSequence - Self.samples(in: 2 * seconds, at: rate) - 1_000)
    }

    /// Notes that samples from before now are wanted.
    /// - Returns: whether they are to be asked for.
    func expectPast(_ description: StreamDescription) -> Bool {
        intake.expect(epoch: description.epoch, upTo: description.nextSequence)
    }

    /// The first sample of an earlier run that belongs to the session, as the stream's rate says.
    private func firstLost(of former: FormerRun) -> Int {
        let next = former.description.nextSequence
        guard let rate = former.description.rate, rate > 0 else { return next }
        let seconds = former.heard.seconds(since: log.startDate)
        return max(0, next - Self.samples(in: seconds, at: rate))
    }

    /// What of a gap belongs to a session that began in the past, of which nothing is written yet: its beginning lies before the
    /// session. As many samples as the rate says; all if that is unknown.
    /// - Parameter uptime: of the first sample behind the gap, in nanoseconds; nil if that is unknown.
    private func ofSession(_ gap: Gap?, before uptime: Int64?, at now: Moment) -> Gap? {
        guard isFromPast, var gap, let earliest, let rate = log.record.rate, rate > 0, gap.epoch == log.epochs[0].name
        else { return gap }
        let span =
            uptime.map { $0.subtractingClamped(earliest) }
            ?? now.date.distance(from: log.startDate)
        let count = min(gap.count, Self.samples(in: Double(span) / 1e9, at: rate))
        // The beginning of what was lost is the session's; gaps may have been noted before.
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

    /// Takes a batch again that waited when the session was interrupted: that says nothing of what its publisher did since.
    func takeAgain(_ batch: SessionRedo.HeldBatch, at now: Moment) {
        let unseen = log.epochs.indices.filter { log.epochs[$0].isUnseen }
        let running = Set(log.epochs.filter(\.mayRun).map(\.name))
        let frames = [batch.body] + (batch.packed.map { [$0] } ?? [])
        // What can't be read was refused before.
        try? ReceivedBatch.forEach(inReplay: frames[...]) { batch, _ in
            _ = try take(batch, at: now)
        } unreadable: { _ in
        }
        for index in unseen { log.epochs[index].isUnseen = true }
        for index in log.epochs.indices { log.epochs[index].mayRun = running.contains(log.epochs[index].name) }
    }

    /// Keeps a batch until its turn, in the write-ahead log too. If too much waits already, it is asked for later.
    private func hold(_ batch: ReceivedBatch, epoch: String) {
        guard held.hasRoom else {
            return intake.noteUnheld(epoch: epoch, upTo: batch.body.sequence + batch.body.count)
        }
        intake.hold(ReorderBuffer.HeldBatch(batch, epoch: epoch))
        log.appender.append(held: batch.frame, packed: batch.packed, of: log.number)
        account()
    }

    /// Writes the batches that wait into the write-ahead log again, for what it had of them is about to be deleted.
    package func holdOn() {
        intake.forEachHeld { batch in
            try? batch.withBatch { log.appender.append(held: $0.frame, packed: $0.packed, of: log.number) }
        }
    }

    private func account() { held.account(for: intake, &accountedBytes) }

    /// Takes what a replay brought: bodies, each followed by its matrix where it is packed. What is missing before the first
    /// is not retained; what can't be read is a gap where a batch after it can be.
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
            // What is still kept may reach back to before the session; then what is not kept is not the session's.
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

    /// Deals with the batches that waited for a recovery, once nothing of it is missing any more.
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

    /// Takes an answer that has no samples: of what is missing there is nothing.
    package func takeNothing(at now: Moment) throws {
        guard let index = searched else { return try giveUp(.notRetained, at: now) }
        // All of another run may be missing behind it.
        if log.epochs[index].isUnseen { return try giveUp(.epochEnded, at: now) }
        log.epochs[index].record.isEndUnknown = nil
        noteChange()
        intake.finishSearch()
        try resume(at: now)
    }

    /// The epoch whose unknown end is being asked for.
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

    /// Which of `epochs` a batch is of. One that is met for the first time is added. A batch that is not as long as it says is
    /// refused, before anything is counted by what it says.
    /// - Returns: nil for a batch of a run that had ended when the session began, or that began after its end.
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
            try log.epochs[known].take(clock, startDate: log.startDate)
            return known
        }
        let name = SampleBody.string(at: batch.body.epoch, in: batch.frame)
        if ended.contains(name) || intake.hasEnd { return nil }
        followClock(to: now)
        // Until it is described, which it may never be.
        let last = log.epochs[log.epochs.count - 1].record
        var new = SessionRecord.Epoch(epoch: name, clock: clock, replay: last.replay, heard: now.date)
        new.isRelayed = last.isRelayed
        let index = try add(new, token: Array(token), at: now.monotonic)
        noteChange()
        return index
    }

    /// Which of `epochs` a batch is of whose epoch is spelled in another way than before: some escape letters in JSON.
    private func respelled(_ token: UnsafeRawBufferPointer, in batch: ReceivedBatch) -> Int? {
        guard let known = index(of: SampleBody.string(at: batch.body.epoch, in: batch.frame)) else { return nil }
        log.epochs[known].token = Array(token)
        return known
    }

    private func add(
        _ epoch: SessionRecord.Epoch, token: [UInt8]? = nil, at now: Int64
    ) throws(MessageError) -> Int {
        guard log.epochs.count < Self.maximumEpochs else {
            throw MessageError(
                .outOfRange, "\(name) has had \(log.epochs.count) epochs; no publisher restarts so often")
        }
        let new = try PublisherEpoch(epoch, token: token, startDate: log.startDate, at: now)
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

    /// Takes what a publisher says of the stream, with the epoch that it is in.
    /// - Parameter first: its first sample that belongs to the session, where that begins with this; nil for all of its epoch.
    package func meet(_ description: StreamDescription, from first: Int?, at now: Moment) throws(MessageError) {
        followClock(to: now)
        let known = index(of: description.epoch)
        let first = max(first ?? 0, description.first ?? 0)
        let index =
            if let known { known } else {
                try add(
                    SessionRecord.Epoch(
                        epoch: description.epoch, clock: description.clock, replay: description.replay,
                        from: first, heard: now.date), at: now.monotonic)
            }
        try log.epochs[index].take(description.clock, startDate: log.startDate)
        if known == nil { intake.start(epoch: description.epoch, at: first) }
        noteUnknownEnds(before: description, at: now.date)
        // A log must not meet a session that does not know of it.
        if log.epochs[index].describe(description, at: now) || known == nil { noteChange() }
    }

    /// Keeps the dates comparable at which runs were heard: a restart judges by them how long each was silent. If the wall clock
    /// was set since the last description, or the machine slept, earlier dates move along.
    private func followClock(to now: Moment) {
        let set = described.map { now.date.distance(from: $0.date.adding(now.monotonic - $0.monotonic)) } ?? 0
        described = now
        for index in log.epochs.indices { log.epochs[index].moveHeard(by: set, until: now.date) }
    }

    /// Makes the log's columns those of a batch that is to be written.
    private func turn(to batch: ReceivedBatch, epoch: Int, next sequence: Int, at now: Moment) throws {
        if batch.hasFields(fieldsToken) { return }
        let (fields, types) = try (batch.fields, batch.types)
        if fields != log.record.fields || types != log.record.types {
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
            if let earliest, epoch == 0 {
                let skipped = try batch.uptimes.dropFirst(rows.lowerBound).prefix { $0 < earliest }.count
                rows = min(rows.lowerBound + skipped, end)..<end
                if skipped > 0 { begin(epoch, at: batch.body.sequence + rows.lowerBound, now) }
                if !rows.isEmpty { self.earliest = nil }
                let first = batch.body.sequence + rows.lowerBound
                if isFromPast, skipped == 0, pastStart > 0, first == pastStart {
                    // The stream was faster than its rate says: samples before may belong to the session.
                    note(Gap(epoch: log.epochs[0].name, from: first, count: 0, reason: .notRetained), at: now.date)
                }
            } else {
                // Of another run of the publisher all samples belong to the session.
                earliest = nil
            }
            try log.append(rows, of: batch, epoch: epoch, isRecovered: isRecovered, at: now)
        } catch let error as MessageError {
            // The publisher would send the same again, so asking for it would not help.
            lastFault = error
            note(gap(.malformed), at: now.date)
        }
    }

    /// Notes which sample of an epoch is the first that belongs to the session, of which nothing is written yet.
    private func begin(_ epoch: Int, at sequence: Int, _ now: Moment) {
        guard sequence > log.epochs[epoch].record.from else { return }
        let name = log.epochs[epoch].name
        if let lost = log.record.gaps.last(where: { $0.epoch == name && $0.count > 0 }) {
            // What was noted as lost stays the session's, and so does what follows it.
            let next = lost.from + lost.count
            guard next < sequence else { return }
            return note(Gap(epoch: name, from: next, count: sequence - next, reason: .notRetained), at: now.date)
        }
        log.epochs[epoch].record.from = sequence
        log.noteLeftOut()
        noteChange()
    }

    /// Notes where an epoch ends for this session: samples from then on are not its own.
    package func end(_ description: StreamDescription) {
        guard let index = index(of: description.epoch) else { return }
        // If it was said before the recorder was interrupted, that holds.
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
        guard let earliest, let first = try batch.uptimes.first else { return false }
        return first < earliest
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

    /// Gives the last file its final name, with the marker of the session's end.
    package func close(at now: Moment) {
        if log.record.isMarkedStopped != true { log.mark(.stop, at: now.date) }
        log.close(at: now)
    }

    /// Whether its samples are left out now: in a pause, or in a step that the session does not want it in.
    var isLeftOut: Bool { log.timeline.current.isPaused }

    /// Whether its publisher's last run ended in good order.
    var isOver: Bool { log.epochs.last?.isOver == true }

    package var hasNewGaps: Bool { announcedGaps < log.record.gaps.count }

    /// The gaps since this was called last.
    package func takeNewGaps() -> ArraySlice<Gap> {
        defer { announcedGaps = gaps.count }
        return gaps[announcedGaps...]
    }
}
