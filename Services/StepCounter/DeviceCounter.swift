import MessageBus
import Messages
import StepDetection

/// Counts the steps of a device in one of its streams: puts the batches in order, and has a `StepFinder` hear them.
///
/// Counts one run of the publisher, an epoch, at a time; with a new one the detector begins anew. Confined to the engine's
/// thread.
final class DeviceCounter {
    /// What a batch or a description led to.
    enum Outcome {
        /// Nothing is to be done.
        case nothing
        /// Samples are missing: ask for them.
        case recover
    }

    /// So many starts of the publisher are remembered, to know another publisher of the same stream by.
    private static let rememberedEpochs = 64

    let name: StreamName
    /// Reads the bodies of its batches.
    var reader = SampleBodyReader()
    /// Whether its missing samples are being asked for.
    var isRecovering = false
    /// Steps that the program's log does not tell of yet.
    var stepsUnlogged = 0
    /// How many steps.v1 events the device had.
    var eventSequence = 0
    /// Whether steps were found that are not in the history yet.
    var hasNewSteps = false
    /// Bytes that wait here, as the engine knows.
    var accountedBytes = 0

    /// When the publisher described the stream last, on `MonotonicClock`.
    private(set) var heard: Int64
    /// When another publisher was heard that has a stream of this name, on `MonotonicClock`.
    private(set) var heardOther: Int64?
    /// The device's clocks, as they were said last.
    private(set) var clock: ClockReading
    /// Where missing samples can be asked for.
    private(set) var replay: String
    private(set) var intake = ReorderBuffer()
    private(set) var finder: StepFinder
    /// What was wrong with the last samples that could not be read.
    private(set) var lastFault: MessageError?

    /// Samples that were heard in epochs before this one.
    private var earlierSamples = 0
    private var epoch: String
    /// The epoch as it stands in a body.
    private var token: [UInt8]
    private var pastEpochs: [String] = []
    /// Samples that could not be had.
    private var gaps: [(gap: Gap, isLoss: Bool)] = []
    /// Whether no sample came yet of a stream that nobody counted before: what is missing then is no loss.
    private var isJoining: Bool
    /// What must be added to the publisher's uptime to get an instant of `MonotonicClock`, in nanoseconds.
    private var offset: Int64
    /// How far the detector was that is stored; nil where none of this epoch is.
    private var snapshotNext: Int?

    /// Begins to count a stream, or goes on with it.
    /// - Parameters:
    ///   - stored: how far it was counted.
    ///   - isLate: begin with the next sample, whatever is kept: the device was counted in another stream till now.
    init(
        _ description: StreamDescription, _ layout: AccelerationLayout, _ settings: StepDetectorSettings,
        stored: StreamPosition?, isLate: Bool = false, at now: Int64
    ) {
        name = description.name
        replay = description.replay
        heard = now
        clock = description.clock
        epoch = description.epoch
        token = Self.token(of: description.epoch)
        offset = Self.offset(description.clock, at: now)
        isJoining = stored == nil
        guard let stored, stored.epoch == description.epoch else {
            finder = StepFinder(layout, settings)
            intake.start(epoch: epoch, at: isLate ? description.nextSequence : 0)
            if let stored {
                // It may have sampled on after that; nobody can say how much.
                note(Gap(epoch: stored.epoch, from: stored.next, count: 0, reason: .epochEnded))
            }
            return
        }
        if let snapshot = stored.snapshot,
            let finder = StepFinder(snapshot, layout, settings, firstNew: stored.next)
        {
            self.finder = finder
            snapshotNext = snapshot.next
            intake.start(epoch: epoch, at: snapshot.next)
        } else {
            finder = StepFinder(layout, settings)
            intake.start(epoch: epoch, at: stored.next)
        }
    }

    // MARK: What was found

    /// Whether there is something to be told.
    var hasFound: Bool { !finder.found.isEmpty || !gaps.isEmpty }

    /// What was found since this was asked last, and samples that could not be had meanwhile.
    func takeFound() -> (found: StepFinder.Found, gaps: [(gap: Gap, isLoss: Bool)]) {
        defer {
            finder.found = StepFinder.Found()
            gaps = []
        }
        if !finder.found.steps.isEmpty { hasNewSteps = true }
        return (finder.found, gaps)
    }

    /// Samples in which steps were looked for.
    var samplesCounted: Int { earlierSamples + finder.samplesHeard }

    private var next: Int { intake.next(of: epoch) ?? 0 }

    /// Whether a detector of this epoch is stored, or about to be.
    var hasSnapshot: Bool { snapshotNext != nil }

    /// Whether the detector heard samples since the last snapshot.
    var isSnapshotDue: Bool { next != snapshotNext }

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

    /// Notes that the last position could not be stored.
    func noteUnstored() {
        snapshotNext = nil
        hasNewSteps = true
    }

    // MARK: What arrives

    /// Notes what a publisher says of the stream. Another epoch is the publisher's next run: it is counted from now on.
    func describe(
        _ description: StreamDescription, _ layout: AccelerationLayout, _ settings: StepDetectorSettings, at now: Int64
    ) -> Outcome {
        if description.epoch != epoch {
            guard !pastEpochs.contains(description.epoch) else {
                heardOther = now
                return .nothing
            }
            begin(description.epoch, layout, settings)
        } else if settings != finder.settings {
            finder.restart(settings)
            snapshotNext = nil
        }
        heard = now
        replay = description.replay
        clock = description.clock
        offset = Self.offset(description.clock, at: now)
        return intake.expect(epoch: epoch, upTo: description.nextSequence) ? .recover : .nothing
    }

    /// Takes a batch as it arrived.
    ///
    /// One of an epoch that was not described yet is left out: once it is, all of the epoch is asked for.
    /// - Parameter canHold: whether the batch may wait for samples before it; if not, it will be asked for again.
    /// - Throws: what can't be read, with nothing changed.
    func take(_ batch: ReceivedBatch, canHold: Bool) throws(MessageError) -> Outcome {
        guard isOfEpoch(batch) else { return .nothing }
        try finder.check(batch)
        let admission = intake.admit(epoch: epoch, sequence: batch.body.sequence, count: batch.body.count)
        switch admission {
        case .take(let rows): count(rows, of: batch)
        case .duplicate, .late: break
        case .wait, .gap: if canHold { intake.hold(ReorderBuffer.HeldBatch(batch, epoch: epoch)) }
        }
        return admission == .gap ? .recover : .nothing
    }

    private func count(_ rows: Range<Int>, of batch: ReceivedBatch) {
        isJoining = false
        if let (unread, fault) = finder.hear(rows, of: batch, clock: clock, offset: offset) {
            // The publisher would send the same again, so asking for it would not help.
            noteUnreadable(unread, from: batch.body.sequence, fault)
        }
    }

    // MARK: What is missing

    /// What is to be asked for next; nil when nothing is missing.
    func missing() -> MissingSamples? {
        if intake.recovery?.missing.isEmpty == true { goOn() }
        return intake.recovery.map { MissingSamples($0, of: name, at: replay) }
    }

    /// Takes the answer to a request for missing samples, if it is still what must be had next.
    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) {
        guard isMissing(request) else { return }
        if reply.count > 0 {
            var reason: Gap.Reason? = .notRetained
            // All that is thrown in there is told by the second closure.
            try? ReceivedBatch.forEach(inReplay: frames) { batch in
                try takeReplayed(batch, missingBefore: reason)
                reason = nil
            } unreadable: { fault in
                lastFault = fault
                reason = .malformed
            }
        }
        // An answer that brings nothing would be asked for without end.
        if isMissing(request) { note(intake.giveUp(reason: reply.count > 0 ? .malformed : .notRetained)) }
        goOn()
    }

    /// Gives up what a request asked for, if it is still what must be had next.
    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) {
        guard isMissing(request) else { return }
        note(intake.giveUp(reason: reason))
        goOn()
    }

    private func isMissing(_ request: SamplesReplay) -> Bool {
        intake.recovery.map { $0.epoch == request.epoch && $0.missing.lowerBound == request.from } ?? false
    }

    private func takeReplayed(_ batch: ReceivedBatch, missingBefore reason: Gap.Reason?) throws(MessageError) {
        try finder.check(batch)
        let body = batch.body
        guard isOfEpoch(batch), SampleBody.string(at: body.device, in: batch.frame) == name.device,
            SampleBody.string(at: body.stream, in: batch.frame) == name.stream
        else { throw MessageError(.malformed, "a replay brought another stream's samples") }
        if let reason { note(intake.giveUp(before: body.sequence, reason: reason)) }
        guard let rows = intake.admitRecovered(epoch: epoch, sequence: body.sequence, count: body.count) else { return }
        count(rows, of: batch)
    }

    /// Goes on with what waited, once nothing before it is missing any more. Where it meets another gap, that is missing next.
    private func goOn() {
        while let held = intake.nextHeld() {
            switch intake.admit(epoch: held.epoch, sequence: held.sequence, count: held.count) {
            case .take(let rows):
                do {
                    try held.withBatch { batch in
                        try finder.check(batch)
                        count(rows, of: batch)
                    }
                } catch {
                    noteUnreadable(rows, from: held.sequence, error as? MessageError)
                }
            case .duplicate, .late:
                break
            case .wait, .gap:
                intake.putBack(held)
                return
            }
        }
    }

    // MARK: Epochs

    /// Leaves the epoch, with what can't be had of it any more, for another one.
    private func begin(_ epoch: String, _ layout: AccelerationLayout, _ settings: StepDetectorSettings) {
        while intake.recovery != nil {
            note(intake.giveUp(reason: .epochEnded))
            goOn()
        }
        finder.endBout()
        if pastEpochs.count == Self.rememberedEpochs { pastEpochs.removeFirst() }
        pastEpochs.append(self.epoch)

        self.epoch = epoch
        token = Self.token(of: epoch)
        intake = ReorderBuffer()
        intake.start(epoch: epoch, at: 0)
        let found = finder.found
        earlierSamples += finder.samplesHeard
        finder = StepFinder(layout, settings)
        finder.found = found
        snapshotNext = nil
    }

    private func isOfEpoch(_ batch: ReceivedBatch) -> Bool {
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: self.token) { return true }
        guard SampleBody.string(at: batch.body.epoch, in: batch.frame) == epoch else { return false }
        self.token = Array(token)
        return true
    }

    private static func token(of epoch: String) -> [UInt8] { Array("\"\(epoch)\"".utf8) }

    private static func offset(_ clock: ClockReading, at now: Int64) -> Int64 {
        now.addingClamped(-WallTime(seconds: clock.uptime).nanosecondsSince1970)
    }

    // MARK: Gaps

    private func noteUnreadable(_ rows: Range<Int>, from sequence: Int, _ fault: MessageError?) {
        lastFault = fault
        note(Gap(epoch: epoch, from: sequence + rows.lowerBound, count: rows.count, reason: .malformed))
    }

    private func note(_ gap: Gap?) {
        guard var gap else { return }
        gap.date = .now
        gaps.append((gap, !isJoining))
    }
}
