import MessageBus
package import Messages
import ServiceKit
import StepDetection

/// Counts the steps of a device in one of its streams: puts the batches in order, and passes them to a `StepFinder`.
///
/// It counts one epoch (one run of the publisher) at a time; a new epoch restarts the detector. Confined to the thread of its
/// `StepCounting`.
package final class DeviceCounter {
    package var name: StreamName { ordered.name }
    package var reader = SampleBodyReader()
    /// Whether its missing samples are being replayed.
    package internal(set) var isRecovering = false
    /// Steps that the program's log does not list yet.
    var stepsUnlogged = 0
    /// The number of steps.v1 events of the device.
    var eventSequence = 0
    /// Whether the position must be committed: steps were found, or a stored position is in use again and may be old.
    var isPositionDue = false

    private(set) var heard: Hearing
    /// When the publisher was last heard, on the wall clock, which continues while this machine sleeps.
    private var heardDate: WallTime
    /// Whether it may have been sampling then.
    private var mayRun: Bool
    /// When another publisher with a stream of this name was heard, on the monotonic clock in nanoseconds.
    private(set) var heardOther: Int64?
    /// The device's clocks, as last described.
    private(set) var clock: ClockReading
    private(set) var ordered: OrderedSamples
    private(set) var finder: StepFinder
    private var spans: CountedSpans
    /// The error of the last unreadable samples.
    private(set) var lastFault: MessageError?

    /// Samples heard in earlier epochs.
    private var earlierSamples = 0
    /// Lost samples, and whether each gap is a loss.
    private var gaps: [(gap: Gap, isLoss: Bool)] = []
    /// Whether the stream was not counted before and has no sample yet: missing samples are no loss then.
    private var isJoining: Bool
    /// Nanoseconds to add to the publisher's uptime to get the time on the monotonic clock.
    private var offset: Int64
    /// The same offset, by the uptimes at which the epoch was described.
    private var instants = UptimeOffsets()
    /// The position of the stored detector; nil if none of this epoch is stored.
    private var snapshotNext: Int?

    /// Begins to count a stream, or continues.
    /// - Parameters:
    ///   - stored: the position up to which the stream was counted.
    ///   - spans: the times in which samples of the device were counted.
    ///   - isLate: whether to begin with the next sample, even if earlier ones are kept: the device was counted in another one.
    init(
        _ description: StreamDescription, _ layout: AccelerationLayout, _ settings: StepDetectorSettings,
        stored: StreamPosition?, spans: [CountedSpan], isLate: Bool, held: HeldBytes, at now: Moment
    ) {
        ordered = OrderedSamples(description, held: held)
        self.spans = CountedSpans(spans)
        (heard, heardDate, mayRun) = (Hearing(at: now.monotonic), now.date, description.mayRun)
        clock = description.clock
        offset = Self.offset(description.clock, at: now)
        isJoining = stored == nil
        isPositionDue = stored != nil
        guard let stored, stored.epoch == description.epoch else {
            finder = StepFinder(layout, settings)
            ordered.buffer.start(epoch: epoch, at: isLate ? description.nextSequence : description.first ?? 0)
            if let stored {
                // Its publisher may have continued to sample after that, for an unknown time.
                note(Gap(epoch: stored.epoch, from: stored.next, count: 0, reason: .epochEnded), at: now.date)
            }
            return
        }
        // The last span is of an earlier epoch.
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

    // MARK: Found steps

    var hasFound: Bool { !finder.found.isEmpty || !gaps.isEmpty }

    /// The findings and losses since the last call.
    func takeFound() -> (found: StepFinder.Found, gaps: [(gap: Gap, isLoss: Bool)]) {
        defer {
            finder.found = StepFinder.Found()
            gaps = []
        }
        if !finder.found.steps.isEmpty { isPositionDue = true }
        return (finder.found, gaps)
    }

    /// The number of samples searched for steps.
    package var samplesCounted: Int { earlierSamples + finder.samplesHeard }

    private var epoch: String { ordered.epoch }
    private var next: Int { ordered.buffer.next(of: epoch) ?? 0 }

    /// Whether a detector of this epoch is stored, or about to be.
    var hasSnapshot: Bool { snapshotNext != nil }

    /// Whether the detector heard samples since the last snapshot. Before the very first sample nothing may be stored: after a
    /// restart, missing samples would count as a loss.
    var isSnapshotDue: Bool { next != snapshotNext && !(isJoining && next == 0) }

    /// The position up to which the stream is counted.
    /// - Parameter isWithSnapshot: whether to include the detector's state.
    func position(isWithSnapshot: Bool) -> StreamPosition {
        // While the detector hears samples again whose steps are stored, the position of the steps is ahead of it.
        var position = StreamPosition(epoch: epoch, next: max(next, finder.firstNew))
        if isWithSnapshot {
            snapshotNext = next
            position.snapshot = finder.snapshot(before: next)
        }
        return position
    }

    var hasUnstoredSpans: Bool { spans.hasUnstored }

    /// Takes the spans that are not stored in their present form.
    func takeUnstoredSpans() -> [CountedSpan] { spans.takeUnstored() }

    /// Notes that the steps from a date on will never be in the history.
    func noteDropped(from date: WallTime) { spans.drop(from: date) }

    /// The coverage of a time whose end was counted; nil if the time is empty. The share is nil if not all spans since the start
    /// are remembered.
    func coverage(from start: WallTime, to end: WallTime) -> (share: Double?, gaps: [UncountedTime])? {
        guard start < end else { return nil }
        let coverage = Coverage(of: start..<end, in: spans.recent)
        return (spans.isComplete(since: start) ? coverage.share : nil, coverage.gaps)
    }

    func date(at now: Moment) -> WallTime {
        clock.date(atUptime: Double(now.monotonic.addingClamped(offset == .min ? .max : -offset)) / 1e9)
    }

    /// Notes that the last position could not be stored.
    func noteUnstored() {
        spans.noteUnstored()
        snapshotNext = nil
        isPositionDue = true
    }

    // MARK: Arriving messages

    /// Takes a publisher's description of the stream. Another epoch is the publisher's next run: it is counted from now on.
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
        heard.note(at: now.monotonic)
        (heardDate, mayRun) = (now.date, description.mayRun)
        ordered.replay = description.replay
        if !isDelayed(description, at: now) { offset = Self.offset(description.clock, at: now) }
        clock = description.clock
        instants.note(offset, from: Int64(nanosecondsIn: description.clock.uptime))
        return ordered.buffer.expect(epoch: epoch, upTo: description.nextSequence)
    }

    /// Takes a batch as it arrived.
    ///
    /// A batch of an epoch that was not described yet is ignored: after the description, the whole epoch is replayed. A batch is
    /// also ignored if it has no room in memory while samples before it are missing.
    /// - Returns: whether samples were found missing.
    /// - Throws: the error of an unreadable batch, with nothing changed.
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

    // MARK: Missing samples

    /// The samples to request next; nil if none are missing.
    func missing(at now: Moment) -> MissingSamples? {
        if ordered.buffer.recovery?.missing.isEmpty == true { resume(at: now) }
        return ordered.missing
    }

    /// Takes the reply to a request for the next missing samples.
    func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        if count > 0 {
            // All errors thrown in the first closure are passed to the second one.
            try? ReceivedBatch.forEach(inReplay: frames) { batch, reason in
                try takeReplayed(batch, missingBefore: reason, at: now)
            } unreadable: { fault in
                lastFault = fault
            }
        }
        // An empty answer would be requested without end.
        if ordered.buffer.isMissing(request) { loseMissing(count > 0 ? .malformed : .notRetained, at: now) }
        resume(at: now)
    }

    /// Gives up the next missing samples.
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

    /// Continues with held batches, once nothing before them is missing.
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

    /// Ends the epoch, with its losses, and begins another one.
    private func begin(
        _ epoch: String, from first: Int, _ layout: AccelerationLayout, _ settings: StepDetectorSettings,
        at now: Moment
    ) {
        while ordered.buffer.recovery != nil { giveUp(.epochEnded, at: now) }
        let silence = max(now.monotonic - heard.last, now.date.distance(from: heardDate))
        if mayRun, !isJoining, silence >= StreamDescription.life {
            // The publisher may have continued to sample unheard, for an unknown time.
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

    /// Restarts counting with a new detector from the first sample whose steps are not in the history. If it heard earlier
    /// samples, it might credit steps that are in the history.
    private func beginAnew(_ settings: StepDetectorSettings) {
        finder.restart(settings)
        ordered.buffer.start(epoch: epoch, at: finder.firstNew)
        snapshotNext = nil
    }

    private static func offset(_ clock: ClockReading, at now: Moment) -> Int64 {
        now.monotonic.subtractingClamped(Int64(nanosecondsIn: clock.uptime))
    }

    /// Whether a relay delivers a description late, because it had no connection: its clocks were read up to hours ago.
    /// Uptimes also fall behind while a device sleeps, but its date does not.
    private func isDelayed(_ description: StreamDescription, at now: Moment) -> Bool {
        let delay = Self.offset(description.clock, at: now).subtractingClamped(offset)
        guard description.isRelayed, delay > StreamDescription.life else { return false }
        let sleep = Self.lead(description.clock).subtractingClamped(Self.lead(clock))
        return sleep.magnitude < StreamDescription.life
    }

    /// How far a device's date is ahead of its uptime, in nanoseconds.
    private static func lead(_ clock: ClockReading) -> Int64 {
        clock.date.nanosecondsSince1970.subtractingClamped(Int64(nanosecondsIn: clock.uptime))
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

    /// Notes lost samples of the epoch. Those before `firstNew` were counted or noted before a restart.
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
