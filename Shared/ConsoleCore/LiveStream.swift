import MessageBus
import Messages

/// A stream as viewers see it live: its samples until they are sent, and those that are missing.
///
/// Newer samples do not wait for missing ones, as they do where steps are counted: what is replayed is sent when it comes.
/// Confined to the thread of its `LiveView`.
final class LiveStream {
    /// Runs of missing samples that are remembered. If there are more, the oldest is lost for viewers.
    private static let maximumGaps = 32

    /// Samples that are missing.
    private struct OpenGap {
        let whole: Range<Int>
        var missing: Range<Int>
        /// Whether some were given up.
        var isLossy = false
        /// When the sample before was taken, and the one after, in nanoseconds since 1970.
        let from: Int64?
        let to: Int64?
    }

    let name: StreamName
    /// Audiences that want it.
    var audiences = 0
    /// Whether a client of Foxglove is among them.
    var isSubscribed = false
    /// Whether its missing samples are being replayed.
    var isRecovering = false
    /// When the publisher last described it, on the monotonic clock.
    private(set) var heard: Int64
    private(set) var samplesSeen = 0
    private(set) var samplesLost = 0

    private var reader = SampleBodyReader()
    private(set) var description: StreamDescription
    private var epoch: String?
    /// The epoch, and the columns, as they stand in a body.
    private var epochToken: [UInt8] = []
    private var fieldsToken: [UInt8]?
    private var fields: [String] = []
    private var types: [FieldType]?
    /// The sample that is expected next; nil before the first: what was before is not missing.
    private var next: Int?
    private var lastTime: Int64?
    private var gaps: [OpenGap] = []
    private var pending: PendingSamples?
    /// Samples that wait, as events.
    private var events = ByteBuffer(capacity: 0)
    private var eventSamples = 0
    /// Samples that wait, as messages for Foxglove.
    private var messages: StreamMessages?
    /// Events about missing samples that are not sent yet.
    private var gapEvents = ByteBuffer(capacity: 0)

    init(_ description: StreamDescription, at now: Moment) {
        name = description.name
        self.description = description
        heard = now.monotonic
    }

    /// Whether there is something to send.
    var hasNews: Bool { pending != nil || eventSamples > 0 || gapEvents.count > 0 || messages != nil }

    /// Bytes that wait to be sent, about.
    var byteCount: Int { events.count + (pending?.byteCount ?? 0) + (messages?.byteCount ?? 0) }

    /// Forgets its position, because it has no viewer any more.
    func leave() {
        next = nil
        lastTime = nil
        gaps = []
        pending = nil
        messages = nil
        events.removeAll()
        eventSamples = 0
        gapEvents.removeAll()
    }

    // MARK: What arrives

    /// Notes what the publisher says of it.
    /// - Returns: whether samples were found missing.
    func describe(_ description: StreamDescription, at now: Moment) -> Bool {
        heard = now.monotonic
        self.description = description
        guard description.epoch == epoch, let next, description.nextSequence > next,
            ReorderBuffer.isPossible(sequence: description.nextSequence, count: 0)
        else { return false }
        miss(next..<description.nextSequence, until: nil)
        self.next = description.nextSequence
        return true
    }

    /// Takes a batch as it arrived.
    /// - Returns: whether samples were found missing.
    /// - Throws: what can't be read; its samples are left out.
    func take(_ frames: EventFrames, at now: Moment) throws(MessageError) -> Bool {
        let body = try reader.read(frames.body)
        return try take(ReceivedBatch(body, frames.body, packed: frames.packed), at: now)
    }

    private func take(_ batch: ReceivedBatch, at now: Moment) throws(MessageError) -> Bool {
        try noteColumns(batch)
        noteEpoch(batch)
        let (sequence, count) = (batch.body.sequence, batch.body.count)
        guard count > 0 else { return false }
        guard let next else {
            self.next = sequence + count
            try append(0..<count, of: batch, at: now)
            return false
        }
        switch SequenceCursor(next: next).arrival(of: sequence, count: count) {
        case .duplicate: return false
        case .next(let skip):
            self.next = sequence + count
            try append(skip..<count, of: batch, at: now)
            return false
        case .gap(let missing):
            self.next = sequence + count
            let before = lastTime
            defer { miss(missing, from: before, until: lastTime) }
            try append(0..<count, of: batch, at: now)
            return true
        }
    }

    private func noteColumns(_ batch: ReceivedBatch) throws(MessageError) {
        if fieldsToken.map({ !batch.hasFields($0) }) ?? true {
            seal()
            messages = nil
            (fields, types) = (try batch.fields, try batch.types)
            guard !fields.isEmpty else { throw MessageError(.missingField, "\"fields\" names no field") }
            fieldsToken = batch.fieldsToken
        }
        try batch.check { () throws(MessageError) in fields.count }
    }

    private func noteEpoch(_ batch: ReceivedBatch) {
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: epochToken) { return }
        seal()
        // The publisher's next run: what is missing of the last one is gone with it.
        while !gaps.isEmpty { giveUp(gaps[0].missing) }
        epoch = SampleBody.string(at: batch.body.epoch, in: batch.frame)
        epochToken = Array(token)
        next = nil
    }

    private func append(_ rows: Range<Int>, of batch: ReceivedBatch, at now: Moment) throws(MessageError) {
        let first = batch.body.sequence + rows.lowerBound
        if let pending, pending.next != first { seal() }
        let received = now.date.nanosecondsSince1970
        if isSubscribed {
            if messages == nil { messages = StreamMessages(description, fields: fields, types: types) }
            try messages?.append(rows, of: batch)
            if audiences == 1 {
                samplesSeen += rows.count
                return
            }
        }
        if pending == nil {
            pending = PendingSamples(
                epoch: epoch ?? "", first: first, fields: fields, types: types,
                isDense: (description.rate ?? 0) > PendingSamples.densestRate, received: received)
        }
        defer { if pending?.count == 0 { pending = nil } }
        try pending?.append(rows, of: batch, received: received)
        samplesSeen += rows.count
        if first + rows.count == next { lastTime = pending?.lastTime }
    }

    /// Turns the samples that wait into an event: those that come next do not follow on them.
    private func seal() {
        guard let samples = pending else { return }
        pending = nil
        eventSamples += samples.count
        samples.write(name, to: &events)
    }

    // MARK: What is missing

    private func miss(_ range: Range<Int>, from: Int64? = nil, until: Int64?) {
        if gaps.count == Self.maximumGaps { giveUp(gaps[0].missing) }
        let gap = OpenGap(whole: range, missing: range, from: from ?? lastTime, to: until)
        gaps.append(gap)
        tell(of: gap, range, "open")
    }

    /// What is to be replayed next; nil if nothing is missing.
    func missing() -> MissingSamples? {
        guard let gap = gaps.first, let epoch else { return nil }
        return MissingSamples(
            SamplesReplay(
                device: name.device, stream: name.stream, epoch: epoch, from: gap.missing.lowerBound,
                count: gap.missing.count), at: description.replay)
    }

    /// Takes the answer to a request for what is missing.
    /// - Returns: what could not be read.
    func take(_ frames: ArraySlice<[UInt8]>, for request: SamplesReplay, at now: Moment) -> MessageError? {
        guard isMissing(request) else { return nil }
        var fault: MessageError?
        // All that is thrown in there reaches the second closure.
        try? ReceivedBatch.forEach(inReplay: frames) { batch, _ in
            try takeReplayed(batch, at: now)
        } unreadable: {
            fault = $0
        }
        // What is still missing there will not come: the publisher would answer the same.
        if isMissing(request), let gap = gaps.first { giveUp(gap.missing) }
        return fault
    }

    /// Gives up what a request asked for.
    func giveUp(_ request: SamplesReplay) {
        if isMissing(request), let gap = gaps.first { giveUp(gap.missing) }
    }

    private func isMissing(_ request: SamplesReplay) -> Bool {
        request.epoch == epoch && gaps.first?.missing.lowerBound == request.from
    }

    private func takeReplayed(_ batch: ReceivedBatch, at now: Moment) throws(MessageError) {
        guard let missing = gaps.first?.missing, batch.isOf(name),
            SampleBody.string(at: batch.body.epoch, in: batch.frame) == epoch
        else { throw MessageError(.malformed, "a replay brought samples that were not requested") }
        try noteColumns(batch)
        let range = batch.body.sequence..<batch.body.sequence + batch.body.count
        let wanted = range.clamped(to: missing)
        guard !wanted.isEmpty else { return }
        if wanted.lowerBound > missing.lowerBound { giveUp(missing.lowerBound..<wanted.lowerBound) }
        try append(wanted.lowerBound - range.lowerBound..<wanted.upperBound - range.lowerBound, of: batch, at: now)
        advance(to: wanted.upperBound)
    }

    private func giveUp(_ range: Range<Int>) {
        samplesLost = samplesLost.addingClamped(range.count)
        gaps[0].isLossy = true
        tell(of: gaps[0], range, "lost")
        advance(to: range.upperBound)
    }

    /// Notes that nothing of the first gap is missing before a sample.
    private func advance(to sequence: Int) {
        let gap = gaps[0]
        gaps[0].missing = min(sequence, gap.missing.upperBound)..<gap.missing.upperBound
        guard gaps[0].missing.isEmpty else { return }
        gaps.removeFirst()
        if !gap.isLossy { tell(of: gap, gap.whole, "recovered") }
    }

    private func tell(of gap: OpenGap, _ range: Range<Int>, _ state: String) {
        gapEvents.append(utf8: "event: gap\ndata: {\"device\":")
        gapEvents.append(jsonString: name.device)
        gapEvents.append(utf8: #","stream":"#)
        gapEvents.append(jsonString: name.stream)
        gapEvents.append(utf8: #","first":"#)
        gapEvents.append(range.lowerBound)
        gapEvents.append(utf8: #","count":"#)
        gapEvents.append(range.count)
        gapEvents.append(utf8: #","from":"#)
        gapEvents.append(time: gap.from)
        gapEvents.append(utf8: #","to":"#)
        gapEvents.append(time: gap.to)
        gapEvents.append(utf8: #","state":""# + state + "\"}\n\n")
    }

    // MARK: What is sent

    /// Hands over the messages for Foxglove.
    func takeMessages() -> StreamMessages? {
        guard messages != nil else { return nil }
        let taken = messages.take()
        return taken
    }

    /// Hands over what waits: of missing samples, and the samples.
    func takeNews() -> (gaps: [UInt8], samples: [UInt8], count: Int) {
        seal()
        defer {
            events.removeAll()
            eventSamples = 0
            gapEvents.removeAll()
        }
        return (gapEvents.withUnsafeBytes { Array($0) }, events.withUnsafeBytes { Array($0) }, eventSamples)
    }
}
