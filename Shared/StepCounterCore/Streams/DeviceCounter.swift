import MessageBus
package import Messages
import StepDetection

/// Counts the steps of a device in one of its streams: puts the batches in order, and has a `StepFinder` hear them.
///
/// Counts one run of the publisher, an epoch, at a time; with a new one the detector begins anew. Confined to the thread of
/// its `StepCounting`.
package final class DeviceCounter {
    package var name: StreamName { ordered.name }
    /// Reads the bodies of its batches.
    package var reader = SampleBodyReader()
    /// Whether its missing samples are being replayed.
    package internal(set) var isRecovering = false
    /// Steps that the program's log does not list yet.
    var stepsUnlogged = 0
    /// How many steps.v1 events the device had.
    var eventSequence = 0
    /// Whether the history must get the position: steps were found, or it may be old, and is in use again.
    var isPositionDue = false

    /// When the publisher last described the stream, on the monotonic clock.
    private(set) var heard: Int64
    /// The same on the wall clock, which continues while this machine sleeps; and whether the publisher was sampling then.
    private var heardDate: WallTime
    private var mayRun: Bool
    /// When another publisher was heard that has a stream of this name, on the monotonic clock.
    private(set) var heardOther: Int64?
    /// The device's clocks, as last described.
    private(set) var clock: ClockReading
    private(set) var ordered: OrderedSamples
    private(set) var finder: StepFinder
    private var spans: CountedSpans
    /// What was wrong with the last samples that could not be read.
    private(set) var lastFault: MessageError?

    /// Samples that were heard in epochs before this one.
    private var earlierSamples = 0
    /// Samples that are lost.
    private var gaps: [(gap: Gap, isLoss: Bool)] = []
    /// Whether no sample came yet of a stream that was not counted before: what is missing then is no loss.
    private var isJoining: Bool
    /// What must be added to the publisher's uptime to get an instant of the monotonic clock, in nanoseconds.
    private var offset: Int64
    /// The same of the uptimes at which the epoch was described.
    private var instants = UptimeOffsets()
    /// How far the detector was that is stored; nil if none of this epoch is.
    private var snapshotNext: Int?

    /// Begins to count a stream, or continues.
    /// - Parameters:
    ///   - stored: how far it was counted.
    ///   - spans: when samples of the device were counted.
    ///   - isLate: begin with the next sample, whatever is kept: the device was counted in another stream until now.
    init(
        _ description: StreamDescription, _ layout: AccelerationLayout, _ settings: StepDetectorSettings,
        stored: StreamPosition?, spans: [CountedSpan], isLate: Bool, held: HeldBytes, at now: Moment
    ) {
        ordered = OrderedSamples(description, held: held)
        self.spans = CountedSpans(spans)
        (heard, heardDate, mayRun) = (now.monotonic, now.date, description.mayRun)
        clock = description.clock
        offset = Self.offset(description.clock, at: now)
        isJoining = stored == nil
        isPositionDue = stored != nil
        guard let stored, stored.epoch == description.epoch else {
            finder = StepFinder(layout, settings)
            ordered.buffer.start(epoch: epoch, at: isLate ? description.nextSequence : description.first ?? 0)
            if let stored {
                // Its publisher may have continued to sample after that: how long is not known.
                note(Gap(epoch: stored.epoch, from: stored.next, count: 0, reason: .epochEnded), at: now.date)
            }
            return
        }
        // The last span is of an epoch before.
        if stored.next == 0 { self.spans.interrupt() }
        if let snapshot = stored.snapshot,
            let finder = StepFinder(snapshot, layout, settings, firstNew: stored.next)
        {
            self.finder = finder
            snapshotNext = snapshot.next
            ordered.buffer.start(epoch: epoch, at: snapshot.next)
        } else {
            finder = StepFinder(layout, settings)
            ordered.buffer.start(epoch: epoch, at: stored.next)
        }
    }

    // MARK: What was found

    var hasFound: Bool { !finder.found.isEmpty || !gaps.isEmpty }

    /// What was found since this was last called, and samples that were lost meanwhile.
    func takeFound() -> (found: StepFinder.Found, gaps: [(gap: Gap, isLoss: Bool)]) {
        defer {
            finder.found = StepFinder.Found()
            gaps = []
        }
        if !finder.found.steps.isEmpty { isPositionDue = true }
        return (finder.found, gaps)
    }

    /// Samples in which steps were looked for.
    package var samplesCounted: Int { earlierSamples + finder.samplesHeard }

    private var epoch: String { ordered.epoch }
    private var next: Int { ordered.buffer.next(of: epoch) ?? 0 }

    /// Whether a detector of this epoch is stored, or about to be.
    var hasSnapshot: Bool { snapshotNext != nil }

    /// Whether the detector heard samples since the last snapshot. Before the first sample of all there is nothing to store:
    /// after a restart, what is missing would be a loss.
    var isSnapshotDue: Bool { next != snapshotNext && !(isJoining && next == 0) }

    /// How far the stream is counted.
    /// - Parameter isWithSnapshot: with all that the detector knows.
    func position(isWithSnapshot: Bool) -> StreamPosition {
        // While it hears again what is stored already, its steps are further than it is.
        var position = StreamPosition(epoch: epoch, next: max(next, finder.firstNew))
        if isWithSnapshot {
            snapshotNext = next
            position.snapshot = finder.snapshot(before: next)
        }
        return position
    }

    var hasUnstoredSpans: Bool { spans.hasUnstored }

    /// When samples were counted, as far as that is not stored as it is.
    func takeUnstoredSpans() -> [CountedSpan] { spans.takeUnstored() }

    /// How much was counted of a time of which the end was counted; nil if it is empty.
    func coverage(from start: WallTime, to end: WallTime) -> Coverage? {
        start < end ? Coverage(of: start..<end, in: spans.recent) : nil
    }

    /// The device's date.
    func date(at now: Moment) -> WallTime {
        clock.date(atUptime: Double(now.monotonic.addingClamped(offset == .min ? .max : -offset)) / 1e9)
    }

    /// Notes that the last position could not be stored.
    func noteUnstored() {
        spans.noteUnstored()
        snapshotNext = nil
        isPositionDue = true
    }

    // MARK: What arrives

    /// Notes what a publisher says of the stream. Another epoch is the publisher's next run: it is counted from now on.
    /// - Returns: whether samples were found missing.
    func describe(
        _ description: StreamDescription, _ layout: AccelerationLayout, _ settings: StepDetectorSettings, at now: Moment
    ) -> Bool {
        if description.epoch != epoch {
            guard !ordered.hasLeft(description.epoch) else {
                heardOther = now.monotonic
                return false
            }
            begin(description.epoch, from: description.first ?? 0, layout, settings, at: now)
        } else if settings != finder.settings {
            beginAnew(settings)
        }
        (heard, heardDate, mayRun) = (now.monotonic, now.date, description.mayRun)
        ordered.replay = description.replay
        clock = description.clock
        offset = Self.offset(description.clock, at: now)
        instants.note(offset, from: Int64(nanosecondsIn: description.clock.uptime))
        return ordered.buffer.expect(epoch: epoch, upTo: description.nextSequence)
    }

    /// Takes a batch as it arrived.
    ///
    /// One of an epoch that was not described yet is left out: once it is, all of the epoch is replayed. So is one for which
    /// no room is left in memory while samples before it are missing.
    /// - Returns: whether samples were found missing.
    /// - Throws: what can't be read, with nothing changed.
    func take(_ batch: ReceivedBatch, at now: Moment) throws(MessageError) -> Bool {
        guard ordered.isOfEpoch(batch) else { return false }
        try finder.check(batch)
        let admission = ordered.admit(batch)
        if case .take(let rows) = admission { count(rows, of: batch, at: now) }
        return admission == .gap
    }

    private func count(_ rows: Range<Int>, of batch: ReceivedBatch, at now: Moment) {
        isJoining = false
        if let (unread, fault) = finder.hear(rows, of: batch, clock: clock, instants: instants, noting: &spans) {
            // The publisher would send the same again.
            noteUnreadable(unread, from: batch.body.sequence, fault, at: now)
        }
    }

    // MARK: What is missing

    /// What is to be replayed next; nil if nothing is missing.
    func missing(at now: Moment) -> MissingSamples? {
        if ordered.buffer.recovery?.missing.isEmpty == true { resume(at: now) }
        return ordered.missing
    }

    /// Takes the answer to a request for what is missing next.
    func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        if count > 0 {
            // All that is thrown in there reaches the second closure.
            try? ReceivedBatch.forEach(inReplay: frames) { batch, reason in
                try takeReplayed(batch, missingBefore: reason, at: now)
            } unreadable: { fault in
                lastFault = fault
            }
        }
        // An answer that brings nothing would be requested without end.
        if ordered.buffer.isMissing(request) { loseMissing(count > 0 ? .malformed : .notRetained, at: now) }
        resume(at: now)
    }

    /// Gives up what is missing next.
    func giveUp(_ reason: Gap.Reason, at now: Moment) {
        loseMissing(reason, at: now)
        resume(at: now)
    }

    private func takeReplayed(
        _ batch: ReceivedBatch, missingBefore reason: Gap.Reason?, at now: Moment
    ) throws(MessageError) {
        try finder.check(batch)
        try ordered.checkReplayed(batch)
        if let reason { loseMissing(before: batch.body.sequence, reason, at: now) }
        if let rows = ordered.admitReplayed(batch) { count(rows, of: batch, at: now) }
    }

    /// Continues with what waited, once nothing before it is missing.
    private func resume(at now: Moment) {
        defer { ordered.account() }
        while let (batch, rows) = ordered.buffer.takeHeld() {
            if rows.isEmpty { continue }
            do {
                try batch.withBatch { batch in
                    try finder.check(batch)
                    count(rows, of: batch, at: now)
                }
            } catch {
                noteUnreadable(rows, from: batch.sequence, error as? MessageError, at: now)
            }
        }
    }

    // MARK: Epochs

    /// Leaves the epoch, with what is lost of it, for another one.
    private func begin(
        _ epoch: String, from first: Int, _ layout: AccelerationLayout, _ settings: StepDetectorSettings,
        at now: Moment
    ) {
        while ordered.buffer.recovery != nil { giveUp(.epochEnded, at: now) }
        let silence = max(now.monotonic - heard, now.date.distance(from: heardDate))
        if mayRun, !isJoining, silence >= StreamDescription.life {
            // It may have continued to sample unheard: how long is not known.
            note(Gap(epoch: self.epoch, from: next, count: 0, reason: .epochEnded), at: now.date)
        }
        finder.endBout()
        spans.interrupt()
        ordered.begin(epoch, at: first)
        let found = finder.found
        earlierSamples += finder.samplesHeard
        finder = StepFinder(layout, settings)
        finder.found = found
        instants = UptimeOffsets()
        snapshotNext = nil
    }

    /// Has a new detector count from the first sample whose steps are not in the history. Where it heard a sample before
    /// that, it might credit steps that are.
    private func beginAnew(_ settings: StepDetectorSettings) {
        finder.restart(settings)
        ordered.buffer.start(epoch: epoch, at: finder.firstNew)
        snapshotNext = nil
    }

    private static func offset(_ clock: ClockReading, at now: Moment) -> Int64 {
        now.monotonic.subtractingClamped(Int64(nanosecondsIn: clock.uptime))
    }

    // MARK: Gaps

    private func loseMissing(before sequence: Int? = nil, _ reason: Gap.Reason, at now: Moment) {
        guard let gap = ordered.buffer.giveUp(before: sequence, reason: reason) else { return }
        if gap.from < finder.firstNew { beginAnew(finder.settings) }
        noteNew(gap, at: now)
    }

    private func noteUnreadable(_ rows: Range<Int>, from sequence: Int, _ fault: MessageError?, at now: Moment) {
        lastFault = fault
        noteNew(Gap(epoch: epoch, from: sequence + rows.lowerBound, count: rows.count, reason: .malformed), at: now)
    }

    /// Notes lost samples of the epoch. Those before a restart's first new one were counted, or noted, before it.
    private func noteNew(_ gap: Gap, at now: Moment) {
        var gap = gap
        let end = gap.from + gap.count
        gap.from = max(gap.from, finder.firstNew)
        gap.count = end - gap.from
        if gap.count > 0 { note(gap, at: now.date) }
    }

    private func note(_ gap: Gap, at date: WallTime) {
        var gap = gap
        gap.date = date
        gaps.append((gap, !isJoining))
        if !isJoining { spans.lose(gap) }
    }
}
