import MessageBus
import Messages

/// A stream as viewers see it live: samples that wait to be sent, and missing ones.
///
/// Unlike for step counting, newer samples do not wait for missing ones: replayed samples are sent when they arrive. Confined to
/// the thread of its `LiveView`.
final class LiveStream {
    /// How many runs of missing samples are remembered. Beyond that, viewers lose the oldest.
    private static let maximumGaps = 32

    /// A run of missing samples.
    private struct OpenGap {
        let whole: Range<Int>
        var missing: Range<Int>
        /// Whether some of the samples were given up.
        var isLossy = false
        /// When the samples before and after `whole` were taken, in nanoseconds since 1970.
        let from: Int64?
        let to: Int64?
        /// When the sample before `missing` was taken.
        var missingFrom: Int64?
    }

    let name: StreamName
    /// How many audiences want the stream.
    var audiences = 0
    /// Whether a Foxglove client is among them.
    var isSubscribed = false
    /// Whether missing samples are being replayed.
    var isRecovering = false
    private(set) var heard: Hearing
    private(set) var samplesSeen = 0
    private(set) var samplesLost = 0

    private var reader = SampleBodyReader()
    private(set) var description: StreamDescription
    private var epoch: String?
    /// The epoch, and the columns, as they appear in a message body.
    private var epochToken: [UInt8] = []
    private var fieldsToken: [UInt8]?
    private var fields: [String] = []
    private var types: [FieldType]?
    /// The next expected sample; nil before the first, because earlier samples are not missing.
    private var next: Int?
    private var lastTime: Int64?
    private var gaps: [OpenGap] = []
    private var pending: PendingSamples?
    /// Samples that wait to be sent, as events.
    private var events = ByteBuffer(capacity: 0)
    private var eventSamples = 0
    /// Samples that wait to be sent, as messages for Foxglove.
    private var messages: StreamMessages?
    /// Events about missing samples, not sent yet.
    private var gapEvents = ByteBuffer(capacity: 0)

    init(_ description: StreamDescription, at now: Moment) {
        name = description.name
        self.description = description
        heard = Hearing(at: now.monotonic)
    }

    var hasNews: Bool { pending != nil || eventSamples > 0 || gapEvents.count > 0 || messages != nil }

    /// Approximate number of bytes that wait to be sent.
    var byteCount: Int { events.count + (pending?.byteCount ?? 0) + (messages?.byteCount ?? 0) }

    /// Forgets the stream's position, because the last viewer has left.
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

    // MARK: Arriving messages

    /// Takes a description from the publisher.
    /// - Returns: whether samples were found missing.
    func describe(_ description: StreamDescription, at now: Moment) -> Bool {
        heard.note(at: now.monotonic)
        self.description = description
        guard description.epoch == epoch, let next, description.nextSequence > next,
            ReorderBuffer.isPossible(sequence: description.nextSequence, count: 0)
        else { return false }
        miss(next..<description.nextSequence, from: lastTime, until: nil)
        self.next = description.nextSequence
        return true
    }

    /// Takes a batch as it arrived.
    /// - Returns: whether samples were found missing.
    /// - Throws: `MessageError` if something can't be read; those samples are left out.
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
            // Samples that do not follow the waiting ones wait apart from them.
            defer { miss(missing, from: before, until: pending?.firstTime) }
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
        // The publisher was restarted; missing samples of its last run are lost.
        while !gaps.isEmpty { giveUpFirstGap() }
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

    /// Closes the waiting samples into an event, because the next samples are not consecutive.
    private func seal() {
        guard let samples = pending else { return }
        pending = nil
        eventSamples += samples.count
        samples.write(name, to: &events)
    }

    // MARK: Missing samples

    private func miss(_ range: Range<Int>, from: Int64?, until: Int64?) {
        if gaps.count == Self.maximumGaps { giveUpFirstGap() }
        gaps.append(OpenGap(whole: range, missing: range, from: from, to: until, missingFrom: from))
        tell("open", range, from: from, to: until)
    }

    /// The next samples to request from the publisher; nil if none are missing.
    func missing() -> MissingSamples? {
        guard let gap = gaps.first, let epoch else { return nil }
        return MissingSamples(
            SamplesReplay(
                device: name.device, stream: name.stream, epoch: epoch, from: gap.missing.lowerBound,
                count: gap.missing.count), at: description.replay)
    }

    /// Takes the reply to a replay request.
    /// - Returns: an error for the part that could not be read.
    func take(_ frames: ArraySlice<[UInt8]>, for request: SamplesReplay, at now: Moment) -> MessageError? {
        guard isMissing(request) else { return nil }
        var fault: MessageError?
        // Everything thrown inside reaches the second closure.
        try? ReceivedBatch.forEach(inReplay: frames) { batch, _ in
            try takeReplayed(batch, at: now)
        } unreadable: {
            fault = $0
        }
        // Samples that are still missing will not come: the publisher would reply the same again.
        if isMissing(request) { giveUpFirstGap() }
        return fault
    }

    /// Gives up the samples of a replay request.
    func giveUp(_ request: SamplesReplay) {
        if isMissing(request) { giveUpFirstGap() }
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
        try append(wanted.lowerBound - range.lowerBound..<wanted.upperBound - range.lowerBound, of: batch, at: now)
        if wanted.lowerBound > missing.lowerBound {
            // These samples follow none of the waiting ones, so the waiting ones begin with them.
            giveUp(missing.lowerBound..<wanted.lowerBound, until: pending?.firstTime)
        }
        gaps[0].missingFrom = pending?.lastTime
        advance(to: wanted.upperBound)
    }

    private func giveUpFirstGap() { giveUp(gaps[0].missing, until: gaps[0].to) }

    /// Gives up the first missing samples of the first gap.
    /// - Parameter until: when the sample after them was taken.
    private func giveUp(_ range: Range<Int>, until: Int64?) {
        samplesLost = samplesLost.addingClamped(range.count)
        gaps[0].isLossy = true
        tell("lost", range, from: gaps[0].missingFrom, to: until)
        advance(to: range.upperBound)
    }

    /// Notes that no sample before `sequence` is missing from the first gap.
    private func advance(to sequence: Int) {
        let gap = gaps[0]
        gaps[0].missing = min(sequence, gap.missing.upperBound)..<gap.missing.upperBound
        guard gaps[0].missing.isEmpty else { return }
        gaps.removeFirst()
        if !gap.isLossy { tell("recovered", gap.whole, from: gap.from, to: gap.to) }
    }

    private func tell(_ state: String, _ range: Range<Int>, from: Int64?, to: Int64?) {
        gapEvents.append(utf8: "event: gap\ndata: {\"device\":")
        gapEvents.append(jsonString: name.device)
        gapEvents.append(utf8: #","stream":"#)
        gapEvents.append(jsonString: name.stream)
        gapEvents.append(utf8: #","first":"#)
        gapEvents.append(range.lowerBound)
        gapEvents.append(utf8: #","count":"#)
        gapEvents.append(range.count)
        gapEvents.append(utf8: #","from":"#)
        gapEvents.append(time: from)
        gapEvents.append(utf8: #","to":"#)
        gapEvents.append(time: to)
        gapEvents.append(utf8: #","state":""# + state + "\"}\n\n")
    }

    // MARK: Sent messages

    /// Removes and returns the messages for Foxglove.
    func takeMessages() -> StreamMessages? {
        guard messages != nil else { return nil }
        let taken = messages.take()
        return taken
    }

    /// Removes and returns what waits: events about missing samples, and the samples.
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
