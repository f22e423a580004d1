import MessageBus
import Messages
import Recording

/// One stream of one session: asks its intake about each batch, formats what is new, and writes it to the log.
///
/// Confined to the recording engine's thread, like the log file that it owns. Formatted records wait in memory until
/// `flush`, which the engine calls after each pull from the socket. Methods throw `MessageError` for what can't be
/// read, with nothing changed, and `RecordingError` where the log can't be written.
final class StreamRecording {
    /// What all logs of a session share.
    struct Settings {
        let directory: Directory
        let format: LogFormat
        let root: JSONRoot
        /// When the session started, on the recorder's clock.
        let startDate: WallTime
        /// How many bytes may wait for a recovery.
        let maximumHeldBytes: Int
    }

    /// What a batch led to.
    enum Outcome {
        /// Samples were written.
        case written
        /// It waits, or it brought nothing new.
        case nothing
        /// Samples are missing: ask for them again.
        case recover
    }

    /// An epoch of the publisher, as this session sees it.
    private struct Epoch {
        let epoch: String
        /// The epoch as it stands in a body: compared before anything is decoded.
        let token: [UInt8]
        /// The publisher's uptime at the session's start, in nanoseconds.
        let origin: Int64
    }

    /// How much may be formatted before it is written in between.
    private static let writeSize = 256 << 10

    let name: StreamName
    /// Where the stream stands.
    var intake: StreamIntake
    /// Whether the publisher said where the stream stood when the session stopped.
    var isEndKnown = false
    /// Whether its missing samples are being asked for.
    var isRecovering = false

    /// What the publisher said of the stream last.
    private(set) var description: StreamDescription
    private(set) var entry: SessionRecord.Log
    private(set) var received = 0
    private(set) var recovered = 0
    private(set) var duplicates = 0
    private(set) var paused = 0
    private(set) var gaps: [Gap] = []
    private(set) var firstUptime: Double?
    private(set) var lastUptime: Double?
    /// What was wrong with the last rows that could not be read.
    private(set) var lastFault: MessageError?

    private let settings: Settings
    private var log: LogFile
    private var formatter: RecordFormatter
    private var buffer = ByteBuffer(capacity: 4 << 10)
    private var bufferedSamples = 0
    private var committedBytes = 0
    private var announcedGaps = 0
    private var epochs: [Epoch]
    /// The epoch of the latest sample.
    private var current = 0
    /// The names of the file's columns as they stood in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    /// Where each epoch's samples are asked for. Two publishers may have a stream of the same name.
    private var replayEndpoints: [String: String] = [:]
    /// For a stream that the session did not know at its start: the uptime in nanoseconds from which samples belong to it.
    private var earliest: Int64?

    /// Opens the log, with the epoch that the publisher is in.
    init(_ description: StreamDescription, log logName: LogName, settings: Settings) throws {
        // A name with another slash in it would not be read back as the same name.
        guard !description.fields.isEmpty, StreamName(description.name.description) == description.name else {
            throw MessageError(.malformed, "\(description.name) is no stream's name, or it names no fields")
        }
        let epoch = Epoch(
            epoch: description.epoch, token: Array("\"\(description.epoch)\"".utf8),
            origin: try Self.origin(description.clock, startDate: settings.startDate))
        epochs = [epoch]
        name = description.name
        self.description = description
        self.settings = settings
        formatter = RecordFormatter(format: settings.format, sensorType: name.stream, fields: description.fields)
        log = try LogFile(
            creating: logName, in: settings.directory, format: settings.format, root: settings.root,
            startDate: settings.startDate.localText, header: formatter.header)
        intake = StreamIntake(maximumHeldBytes: settings.maximumHeldBytes)
        entry = SessionRecord.Log(
            name: logName, device: name.device, stream: name.stream, fields: description.fields,
            unit: description.unit, epochs: [SessionRecord.Epoch(epoch: description.epoch, clock: description.clock)],
            file: logName.fileName(settings.format))
        replayEndpoints[description.epoch] = description.replay
    }

    /// Samples written, those in memory included.
    var written: Int {
        entry.files.reduce(entry.file == nil ? 0 : log.sampleCount + bufferedSamples) { $0 + $1.samples }
    }

    /// Samples lost.
    var lost: Int { gaps.reduce(0) { $0.addingClamped($1.count) } }

    /// Bytes of all files.
    var byteCount: Int { entry.files.reduce(entry.file == nil ? 0 : log.byteCount) { $0 + $1.bytes } }

    /// Notes what the publisher says of the stream now.
    func describe(_ description: StreamDescription) {
        self.description = description
        replayEndpoints[description.epoch] = description.replay
    }

    /// Where an epoch's samples can be asked for.
    func replayEndpoint(of epoch: String) -> String { replayEndpoints[epoch] ?? description.replay }

    /// Where the publishers answer that had the stream.
    var publishers: Set<String> { Set(replayEndpoints.values) }

    /// Leaves out samples that were taken before the session started, for a stream that was met during it.
    func leaveOutEarlierSamples() {
        // Both clocks were read within the time that a message travels, so their difference is how far they are apart.
        let (behind, overflow) = WallTime.now.nanosecondsSince1970.subtractingReportingOverflow(
            description.clock.date.nanosecondsSince1970)
        earliest = overflow ? nil : epochs[current].origin.addingClamped(-max(0, behind))
    }

    // MARK: Samples

    /// Takes a batch as it arrived.
    func take(
        _ body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?,
        timeline: SessionTimeline
    ) throws -> Outcome {
        let epoch = try epoch(of: body, frame)
        let packed = body.values == nil ? packed : nil
        try check(body, frame, packed: packed)
        let admission = intake.admit(epoch: epochs[epoch].epoch, sequence: body.sequence, count: body.count)
        switch admission {
        case .take(let rows):
            duplicates += rows.lowerBound
            try write(rows, of: body, frame, packed: packed, epoch: epoch, timeline: timeline)
            return .written
        case .duplicate:
            duplicates += body.count
            return .nothing
        case .late:
            return .nothing
        case .wait, .gap:
            let batch = StreamIntake.HeldBatch(
                epoch: epochs[epoch].epoch, sequence: body.sequence, count: body.count,
                frames: [Array(frame)] + (packed.map { [Array($0)] } ?? []))
            if intake.hold(batch) { return try giveUp(.heldTooMuch, timeline: timeline) }
            return admission == .gap ? .recover : .nothing
        }
    }

    /// Takes what a replay brought: bodies, each followed by its matrix where it is packed. What can't be read is a
    /// gap where a batch after it can be.
    /// - Parameter reason: why samples before the first that it brought are missing.
    func takeReplayed(_ frames: ArraySlice<[UInt8]>, missingBefore reason: Gap.Reason, timeline: SessionTimeline) throws
    {
        var reason: Gap.Reason? = reason
        var index = frames.startIndex
        while index < frames.endIndex {
            do {
                let frame = frames[index]
                index += 1
                try frame.withUnsafeBytes { frame in
                    let body = try SampleBody(frame)
                    var packed: [UInt8]?
                    if body.values == nil, index < frames.endIndex {
                        packed = frames[index]
                        index += 1
                    }
                    try packed.withOptionalBytes { packed in
                        try takeReplayed(body, frame, packed: packed, missingBefore: reason, timeline: timeline)
                    }
                    reason = nil
                }
            } catch let error as MessageError {
                lastFault = error
                reason = .malformed
            }
        }
    }

    private func takeReplayed(
        _ body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?,
        missingBefore reason: Gap.Reason?, timeline: SessionTimeline
    ) throws {
        let epoch = try epoch(of: body, frame)
        try check(body, frame, packed: packed)
        guard SampleBody.string(at: body.device, in: frame) == name.device,
            SampleBody.string(at: body.stream, in: frame) == name.stream,
            intake.recovery?.epoch == epochs[epoch].epoch
        else { throw MessageError(.malformed, "a replay brought another stream's samples") }
        if let reason {
            // What is still kept may reach back to before the session; then what is not kept is not the session's.
            let isOutside = try reason == .notRetained && isBeforeSession(body, frame, packed: packed)
            let lost = intake.giveUp(before: body.sequence, reason: reason)
            if !isOutside { note(lost, timeline: timeline) }
        }
        let name = epochs[epoch].epoch
        guard let rows = intake.admitRecovered(epoch: name, sequence: body.sequence, count: body.count) else { return }
        let before = received
        try write(rows, of: body, frame, packed: packed, epoch: epoch, timeline: timeline)
        recovered += received - before
    }

    /// Deals with the batches that waited for a recovery, once nothing of it is missing any more.
    func resume(timeline: SessionTimeline) throws -> Outcome {
        var outcome = Outcome.nothing
        while let batch = intake.nextHeld() {
            switch intake.admit(epoch: batch.epoch, sequence: batch.sequence, count: batch.count) {
            case .take(let rows):
                duplicates += rows.lowerBound
                try batch.frames[0].withUnsafeBytes { frame in
                    let body = try SampleBody(frame)
                    let epoch = try epoch(of: body, frame)
                    try batch.frames.dropFirst().first.withOptionalBytes { packed in
                        try write(rows, of: body, frame, packed: packed, epoch: epoch, timeline: timeline)
                    }
                }
                outcome = .written
            case .duplicate:
                duplicates += batch.count
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
    private func epoch(of body: SampleBody, _ frame: UnsafeRawBufferPointer) throws(MessageError) -> Int {
        let token = UnsafeRawBufferPointer(rebasing: frame[body.epoch])
        if token.elementsEqual(epochs[current].token) { return current }
        if let index = epochs.lastIndex(where: { token.elementsEqual($0.token) }) { return index }
        let epoch = SampleBody.string(at: body.epoch, in: frame)
        let clock = try SampleBody.clock(at: body.clock, in: frame)
        epochs.append(
            Epoch(
                epoch: epoch, token: Array(token), origin: try Self.origin(clock, startDate: settings.startDate)))
        entry.epochs.append(SessionRecord.Epoch(epoch: epoch, clock: clock))
        return epochs.count - 1
    }

    /// The uptime at the session's start, in nanoseconds.
    private static func origin(_ clock: ClockReading, startDate: WallTime) throws(MessageError) -> Int64 {
        let (sinceStart, overflow) = clock.date.nanosecondsSince1970.subtractingReportingOverflow(
            startDate.nanosecondsSince1970)
        guard clock.uptime.magnitude < 4e9, !overflow, sinceStart.magnitude < 1 << 62 else {
            throw MessageError(
                .outOfRange, "uptime \(clock.uptime) at \(clock.date.utcText) can't be a clock's reading")
        }
        return Int64((clock.uptime * 1e9).rounded()) - sinceStart
    }

    /// Refuses a batch that is not as long as it says, before anything is counted by what it says.
    private func check(
        _ body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?
    ) throws(MessageError) {
        guard StreamIntake.isPossible(sequence: body.sequence, count: body.count) else {
            throw MessageError(.outOfRange, "there can't be \(body.count) samples from \(body.sequence) on")
        }
        if let values = body.values {
            // Each row has its brackets at least; whether there are so many is known when they are walked.
            guard body.count <= values.count / 2 else {
                throw MessageError(.malformed, "\"values\" has not \(body.count) rows, as \"count\" says")
            }
        } else if let packed {
            let size = 8 * (hasFields(of: body, frame) ? entry.fields : try fields(of: body, frame)).count
            guard packed.count.isMultiple(of: size), packed.count / size == body.count else {
                throw MessageError(.wrongColumns, "\(packed.count) bytes are not \(body.count) rows of \(size)")
            }
        } else {
            throw MessageError(.missingField, "the batch has neither \"values\" nor a packed frame")
        }
    }

    private func hasFields(of body: SampleBody, _ frame: UnsafeRawBufferPointer) -> Bool {
        UnsafeRawBufferPointer(rebasing: frame[body.fields]).elementsEqual(fieldsToken)
    }

    private func fields(of body: SampleBody, _ frame: UnsafeRawBufferPointer) throws(MessageError) -> [String] {
        try SampleBody.fieldNames(at: body.fields, in: frame)
    }

    /// Makes the log's epoch and columns those of a batch that is to be written.
    private func turn(
        to epoch: Int, _ body: SampleBody, _ frame: UnsafeRawBufferPointer, timeline: SessionTimeline
    ) throws {
        current = epoch
        if hasFields(of: body, frame) { return }
        let fields = try fields(of: body, frame)
        if fields != entry.fields { try beginFile(fields: fields, timeline: timeline) }
        fieldsToken = Array(frame[body.fields])
    }

    private func write(
        _ rows: Range<Int>, of body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?,
        epoch: Int, timeline: SessionTimeline
    ) throws {
        var rows = rows
        do {
            try turn(to: epoch, body, frame, timeline: timeline)
            if let earliest {
                let skipped = try uptimes(of: body, frame, packed: packed)
                    .dropFirst(rows.lowerBound).prefix { $0 < earliest }.count
                rows = min(rows.lowerBound + skipped, rows.upperBound)..<rows.upperBound
                if rows.isEmpty { return }
                self.earliest = nil
            }
            let result =
                if let packed {
                    formatter.append(
                        packed: packed, rows: rows, timeline: timeline, origin: epochs[epoch].origin, to: &buffer)
                } else {
                    try formatter.append(
                        values: body.values ?? 0..<0, of: frame, count: body.count, rows: rows, timeline: timeline,
                        origin: epochs[epoch].origin, to: &buffer)
                }
            received += rows.count
            paused += result.paused
            bufferedSamples += result.written
            firstUptime = firstUptime ?? result.firstUptime
            lastUptime = result.lastUptime ?? lastUptime
        } catch let error as MessageError {
            // The publisher would send the same again, so asking for it would not help.
            lastFault = error
            note(
                Gap(
                    epoch: epochs[epoch].epoch, from: body.sequence + rows.lowerBound, count: rows.count,
                    reason: .malformed),
                timeline: timeline)
        }
        if buffer.count > Self.writeSize { try flush() }
    }

    private func isBeforeSession(
        _ body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?
    ) throws(MessageError) -> Bool {
        guard let earliest, let first = try uptimes(of: body, frame, packed: packed).first else { return false }
        return first < earliest
    }

    /// The uptimes of a batch in nanoseconds. Only for the first batches of a stream that was met late.
    private func uptimes(
        of body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?
    ) throws(MessageError) -> [Int64] {
        let columns = try fields(of: body, frame).count
        var uptimes: [Int64] = []
        func append(_ uptime: Double) {
            uptimes.append(uptime.magnitude < 9e9 ? Int64((uptime * 1e9).rounded()) : .max)
        }
        if let packed {
            for row in 0..<body.count {
                let bits = packed.loadUnaligned(fromByteOffset: row * columns * 8, as: UInt64.self)
                append(Double(bitPattern: UInt64(littleEndian: bits)))
            }
        } else if let values = body.values {
            var rows = SampleRows(frame, values: values, columns: columns)
            while try rows.next() { append(rows.number(0)) }
        }
        return uptimes
    }

    // MARK: Markers

    /// Writes a marker.
    /// - Parameters:
    ///   - date: when it happened, on the recorder's clock.
    ///   - stepPath: the step after it.
    func mark(_ event: Marker.Event, at date: WallTime, stepPath: String) {
        let time = date.nanosecondsSince1970 - settings.startDate.nanosecondsSince1970
        formatter.append(
            Marker(event, time: time, date: date.localText, stepPath: stepPath),
            origin: epochs[current].origin, to: &buffer)
    }

    private func note(_ gap: Gap?, timeline: SessionTimeline) {
        guard let gap else { return }
        gaps.append(gap)
        mark(.gap(gap), at: .now, stepPath: timeline.current.stepPath)
    }

    /// Whether there are gaps that `takeNewGaps` has not told yet.
    var hasNewGaps: Bool { announcedGaps < gaps.count }

    /// The gaps since this was asked last.
    func takeNewGaps() -> ArraySlice<Gap> {
        defer { announcedGaps = gaps.count }
        return gaps[announcedGaps...]
    }

    // MARK: Files

    /// Writes what is in memory.
    func flush() throws(RecordingError) {
        try log.append(&buffer, samples: bufferedSamples)
        bufferedSamples = 0
    }

    /// What a group commit covers: the file to sync, and what the journal says of it then. Nil where nothing is new.
    func commitPoint(at date: WallTime) throws(RecordingError) -> (file: OpenFile, entry: JournalEntry)? {
        guard let file = entry.file else { return nil }
        // What is counted as taken is written, so that the journal's two numbers mean the same sample.
        try flush()
        guard log.byteCount != committedBytes else { return nil }
        committedBytes = log.byteCount
        let epoch = epochs[current].epoch
        return (
            log.handle,
            JournalEntry(
                file: file, bytes: log.byteCount, samples: log.sampleCount, epoch: epoch,
                next: intake.next(of: epoch) ?? 0, date: date)
        )
    }

    /// Finishes the file that is being written: syncs it, and gives it its final name.
    func finishFile(at date: WallTime) throws(RecordingError) {
        try flush()
        let file = try log.finish(at: date)
        entry.file = nil
        entry.files.append(file)
    }

    /// Goes on in a new file, for samples with other columns. It starts with what is needed to read it.
    private func beginFile(fields: [String], timeline: SessionTimeline) throws(RecordingError) {
        try finishFile(at: .now)
        formatter = RecordFormatter(format: settings.format, sensorType: name.stream, fields: fields)
        log = try LogFile(
            creating: entry.name, in: settings.directory, format: settings.format, root: settings.root,
            startDate: WallTime.now.localText, header: formatter.header)
        entry.fields = fields
        entry.file = entry.name.fileName(settings.format)
        committedBytes = 0
        mark(.step, at: .now, stepPath: timeline.current.stepPath)
        if timeline.current.isPaused { mark(.pause, at: .now, stepPath: timeline.current.stepPath) }
    }
}

extension [UInt8]? {
    /// Lends the bytes, if there are any.
    fileprivate func withOptionalBytes<Result>(_ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result {
        switch self {
        case .some(let bytes): try bytes.withUnsafeBytes { try body($0) }
        case nil: try body(nil)
        }
    }
}

extension FixedWidthInteger {
    /// The sum, or the nearest number that can be held.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
