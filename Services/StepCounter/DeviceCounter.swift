import MessageBus
import Messages
import StepDetection

/// Counts the steps of a device in one of its streams: puts the batches in order, and lets a detector hear their samples.
///
/// Counts one run of the publisher, an epoch, at a time; with a new one the detector begins anew. What it finds waits until
/// `takeFound()`. Confined to the engine's thread.
final class DeviceCounter {
    /// What a batch or a description led to.
    enum Outcome {
        /// Nothing is to be done.
        case nothing
        /// Samples are missing: ask for them.
        case recover
    }

    /// What was found since it was asked last.
    struct Found {
        /// Steps in the order of their times: on the device's clock, and on `MonotonicClock` in nanoseconds.
        var steps: [(date: WallTime, instant: Int64)] = []
        /// Where bouts of walking began and ended.
        var bouts: [(change: StepEvent.Change, date: WallTime, start: WallTime)] = []
        /// Samples that could not be had. They are no loss where they were taken before anybody counted.
        var gaps: [(gap: Gap, isLoss: Bool)] = []
    }

    /// Each start of the publisher is one; those that are remembered are known when another publisher is behind them.
    private static let rememberedEpochs = 64

    let name: StreamName
    /// Reads the bodies of its batches.
    var reader = SampleBodyReader()
    /// Whether its missing samples are being asked for, or wait for their turn.
    var isRecovering = false
    /// How many steps.v1 events the device had.
    var eventSequence = 0
    /// Whether steps were found that are not in the history yet.
    var hasNewSteps = false
    /// Bytes that wait here, as the engine knows.
    var accountedBytes = 0

    /// Where missing samples can be asked for.
    private(set) var replay: String
    /// When the publisher described the stream last, on `MonotonicClock`.
    private(set) var heard: Int64
    /// When another publisher was heard that has a stream of this name, on `MonotonicClock`.
    private(set) var heardOther: Int64?
    /// The device's clocks, as they were said last.
    private(set) var clock: ClockReading
    /// When the present bout of walking began.
    private(set) var boutStart: WallTime?
    private(set) var intake = StreamIntake(maximumHeldBytes: .max)
    private(set) var samplesTaken = 0
    private(set) var hasFound = false

    private var epoch: String
    /// The epoch as it stands in a body.
    private var token: [UInt8]
    private var pastEpochs: [String] = []
    private var layout: AccelerationLayout
    /// The names of the columns as they stood in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    private var detector: StepDetector
    /// What samples before this one bring about is in the history.
    private var counted: Int
    /// Whether no sample of a stream came yet that nobody counted before.
    private var isJoining: Bool
    /// What must be added to the publisher's uptime to get an instant of `MonotonicClock`, in nanoseconds.
    private var offset: Int64
    private var lastStep: WallTime?
    private var found = Found()
    /// Of the batch that is being counted, with whether they are not in the history.
    private var events: [(event: WalkingEvent, isNew: Bool)] = []
    /// How far the detector was that is stored.
    private var snapshotNext = -1

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
        self.layout = layout
        detector = StepDetector(settings)
        counted = isLate ? description.nextSequence : 0
        isJoining = stored == nil
        var first = counted
        if let stored, stored.epoch == description.epoch {
            counted = stored.next
            first = stored.next
            if let snapshot = stored.snapshot, snapshot.settings == settings,
                let detector = StepDetector(state: snapshot.state, settings)
            {
                self.detector = detector
                boutStart = snapshot.boutStart
                first = snapshot.next
                snapshotNext = first
            }
        } else if let stored {
            // It may have sampled on after that; nobody can say how much.
            note(Gap(epoch: stored.epoch, from: stored.next, count: 0, reason: .epochEnded))
        }
        intake.start(epoch: epoch, at: first)
    }

    /// Steps a second while walking, else nil.
    var cadence: Double? { detector.cadence }

    /// What was found since this was asked last.
    func takeFound() -> Found {
        defer {
            found = Found()
            hasFound = false
        }
        return found
    }

    // MARK: What is stored

    private var next: Int { intake.next(of: epoch) ?? 0 }

    /// Whether a detector of this epoch is stored, or about to be.
    var hasSnapshot: Bool { snapshotNext >= 0 }

    /// Whether the detector heard samples since the last snapshot.
    var isSnapshotDue: Bool { next != snapshotNext }

    /// How far the stream is counted.
    /// - Parameter isWithSnapshot: with all that the detector knows.
    func position(isWithSnapshot: Bool) -> StreamPosition {
        var position = StreamPosition(epoch: epoch, next: max(next, counted))
        if isWithSnapshot {
            snapshotNext = next
            position.snapshot = DetectorSnapshot(
                next: next, state: detector.state, settings: detector.settings, boutStart: boutStart)
        }
        return position
    }

    /// Notes that the last position could not be stored.
    func noteUnstored() {
        snapshotNext = -1
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
            leaveEpoch()
            begin(description, settings)
            self.layout = layout
            fieldsToken = []
        } else if settings != detector.settings {
            endBout()
            detector = StepDetector(settings)
            snapshotNext = -1
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
        try check(batch)
        let body = batch.body
        switch intake.admit(epoch: epoch, sequence: body.sequence, count: body.count) {
        case .take(let rows):
            count(rows, of: batch)
            return .nothing
        case .duplicate, .late:
            return .nothing
        case .wait:
            if canHold { _ = intake.hold(StreamIntake.HeldBatch(batch, epoch: epoch)) }
            return .nothing
        case .gap:
            if canHold { _ = intake.hold(StreamIntake.HeldBatch(batch, epoch: epoch)) }
            return .recover
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
            } unreadable: { _ in
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
        try check(batch)
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
                    try held.withBatch { count(rows, of: $0) }
                } catch {
                    // It was read when it was held.
                    note(gap(rows, from: held.sequence))
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

    private func leaveEpoch() {
        while intake.recovery != nil {
            note(intake.giveUp(reason: .epochEnded))
            goOn()
        }
        endBout()
        if pastEpochs.count == Self.rememberedEpochs { pastEpochs.removeFirst() }
        pastEpochs.append(epoch)
    }

    private func begin(_ description: StreamDescription, _ settings: StepDetectorSettings) {
        epoch = description.epoch
        token = Self.token(of: epoch)
        intake = StreamIntake(maximumHeldBytes: .max)
        intake.start(epoch: epoch, at: 0)
        detector = StepDetector(settings)
        counted = 0
        snapshotNext = -1
    }

    /// The detector will say nothing more of the present bout.
    private func endBout() {
        if let start = boutStart {
            found.bouts.append((.pause, lastStep ?? start, start))
            hasFound = true
        }
        boutStart = nil
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

    // MARK: Counting

    /// Refuses a batch that is not as long as it says, or not an acceleration, before anything is counted by what it says.
    private func check(_ batch: ReceivedBatch) throws(MessageError) {
        if !batch.hasFields(fieldsToken) {
            layout = try AccelerationLayout(try batch.fields)
            fieldsToken = Array(batch.frame[batch.body.fields])
        }
        try batch.check { () throws(MessageError) in layout.columns }
    }

    /// Lets the detector hear samples that are new and in order.
    private func count(_ rows: Range<Int>, of batch: ReceivedBatch) {
        let first = batch.body.sequence
        isJoining = false
        var end = rows.lowerBound
        do {
            try layout.forEach(rows, of: batch) { row, sample in
                let isNew = first + row >= counted
                detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { events.append(($0, isNew)) }
                end = row + 1
            }
        } catch {
            // The publisher would send the same again, so asking for it would not help.
            note(gap(end..<rows.upperBound, from: first))
        }
        samplesTaken += end - rows.lowerBound
        guard !events.isEmpty else { return }
        let clock = (try? SampleBody.clock(at: batch.body.clock, in: batch.frame)) ?? clock
        for (event, isNew) in events { note(event, clock, isNew: isNew) }
        events.removeAll(keepingCapacity: true)
    }

    private func note(_ event: WalkingEvent, _ clock: ClockReading, isNew: Bool) {
        switch event {
        case .began(let time):
            let date = clock.date(atUptime: time)
            boutStart = date
            if isNew { found.bouts.append((.resume, date, date)) }
        case .step(let step):
            let date = clock.date(atUptime: step.time)
            lastStep = date
            if isNew {
                let instant = offset.addingClamped(WallTime(seconds: step.time).nanosecondsSince1970)
                found.steps.append((date, instant))
                hasNewSteps = true
            }
        case .ended(let time):
            let date = clock.date(atUptime: time)
            if isNew { found.bouts.append((.pause, date, boutStart ?? date)) }
            boutStart = nil
        }
        if isNew { hasFound = true }
    }

    private func gap(_ rows: Range<Int>, from sequence: Int) -> Gap {
        Gap(epoch: epoch, from: sequence + rows.lowerBound, count: rows.count, reason: .malformed)
    }

    private func note(_ gap: Gap?) {
        guard var gap else { return }
        gap.date = .now
        found.gaps.append((gap, !isJoining))
        hasFound = true
    }
}
