import MessageBus
import Messages
import Recording
import ZeroMQ

/// The log of one stream: formats records, writes them, goes on in a new file where one is large or old enough, and
/// says in the journal where the sequences of its samples jump.
///
/// Confined to the recording engine's thread. Records wait in memory until `flush`. Syncing and finishing files is handed
/// over: `commitPoint` and `takeSealed` say what is to be done, on another thread. Only where sequences jump, which is
/// rare, `flush` waits for the disk itself.
final class StreamLog {
    /// What the session says of its logs, and of this one.
    struct Settings {
        let directory: Directory
        let journal: Journal
        /// What is not as the session says.
        let options: LogOptions
        let format: LogFormat
        let root: JSONRoot
        /// When the session started, on the recorder's clock.
        let startDate: WallTime
        /// Bytes after which a log goes on in a new file. No batch is split, so a file may be longer by one.
        let maximumFileSize: Int?
        /// Nanoseconds after which it does.
        let maximumFileAge: Int64?
    }

    /// A place in a stream.
    struct Position: Hashable {
        /// Which of `epochs`.
        let epoch: Int
        /// The sample that comes next.
        let next: Int
    }

    /// What a group commit covers: the file to sync, and what the journal says of it then.
    struct CommitPoint: Sendable {
        let file: OpenFile
        /// How many of the file's bytes will stay as they are.
        let stableBytes: Int
        let log: LogName
        let segment: Int
        let entries: [JournalEntry]
    }

    /// A file that has its final name and is to be finished.
    struct SealedSegment: Sendable {
        let log: LogName
        let segment: Int
        let file: SealedFile
    }

    /// A place in the buffer from which sequences go on elsewhere.
    private struct Jump {
        let offset: Int
        /// Samples in the buffer before it.
        let samples: Int
        /// How far the epoch had come that ends here, if one does.
        let ended: Position?
        let position: Position
    }

    /// How much may be formatted before it is written in between.
    private static let writeSize = 256 << 10
    /// How many files may wait for their finishing. A disk that is slower gets longer files, not more of them.
    private static let maximumSealed = 4

    let name: LogName
    /// The names of the stream's epochs.
    var epochs: [String] {
        didSet { nexts += Array(repeating: 0, count: epochs.count - nexts.count) }
    }
    var counts = StreamCounts()
    /// How far the stream has come: what was written, left out or given up.
    var position: Position {
        didSet { nexts[position.epoch] = position.next }
    }
    private(set) var fields: [String]
    private(set) var files: [FinishedFile]
    private(set) var intervals: IntervalStatistics
    private(set) var firstUptime: Double?
    private(set) var lastUptime: Double?
    /// When the file being written was begun.
    private(set) var fileDate: WallTime
    /// The same on `MonotonicClock`: a wall clock that is set back must not make a file young.
    private var fileBegan = MonotonicClock.now

    private let settings: Settings
    private let description: StreamHeader
    private var file: LogFile?
    /// Files that have their final name and wait to be finished.
    private var sealed: [SealedFile] = []
    private var sealedTaken = 0
    private var lastName: FinishedName?
    private var formatter: RecordFormatter
    private var buffer = ByteBuffer(capacity: 4 << 10)
    private var bufferedSamples = 0
    /// The runs of samples in the buffer that follow on each other: the first of each, and the samples before it.
    private var runs: [(samples: Int, position: Position)] = []
    /// The gaps whose markers are in the buffer.
    private var bufferedGaps: [Gap] = []
    private var jumps: [Jump] = []
    /// What a reader of the log, told the jumps, takes the next record for; nil where it can't know.
    private var logged: Position?
    private var entryIndex: Int
    /// How far each epoch has come.
    private var nexts: [Int]
    /// The epoch of the journal's latest line.
    private var toldEpoch: Int
    private var committed: JournalEntry?
    private var stepPath: String
    private var isPaused: Bool

    /// Begins a log.
    /// - Parameters:
    ///   - first: the first sample, of the epoch described, that belongs to it.
    ///   - stepPath: the session's step at its start.
    init(
        _ name: LogName, of description: StreamDescription, from first: Int, stepPath: String, settings: Settings
    ) throws(RecordingError) {
        self.name = name
        self.settings = settings
        epochs = [description.epoch]
        position = Position(epoch: 0, next: first)
        nexts = [first]
        toldEpoch = 0
        self.description = StreamHeader(device: description.device, unit: description.unit, rate: description.rate)
        self.stepPath = stepPath
        fields = description.fields
        files = []
        intervals = IntervalStatistics(nominalRate: description.rate)
        fileDate = settings.startDate
        isPaused = false
        entryIndex = 0
        formatter = RecordFormatter(
            format: settings.format, sensorType: description.stream, fields: description.fields)
        try open(startDate: settings.startDate)
    }

    /// Goes on with a log that was cut off.
    /// - Parameters:
    ///   - record: what the session knows of it.
    ///   - recovered: what is left of it.
    ///   - stepPath: the session's step now.
    init(
        reopening record: SessionRecord.Log, _ recovered: RecoveredLog, epochs: [String], origin: Int64,
        position: Position, stepPath: String, isPaused: Bool, settings: Settings
    ) throws(RecordingError) {
        name = record.name
        self.settings = settings
        self.epochs = epochs
        self.origin = origin
        nexts = epochs.map { epoch in recovered.positions.last { $0.epoch == epoch }?.next ?? 0 }
        toldEpoch = position.epoch
        self.position = position
        description = StreamHeader(device: record.device, unit: record.unit, rate: record.rate)
        self.stepPath = stepPath
        self.isPaused = isPaused
        fields = record.fields
        files = record.files
        intervals = record.intervals ?? IntervalStatistics(nominalRate: record.rate)
        intervals.breakOff()
        firstUptime = recovered.firstUptime
        lastUptime = recovered.lastUptime
        counts = recovered.counts
        fileDate = record.fileDate ?? settings.startDate
        fileBegan -= max(0, WallTime.now.nanosecondsSince1970 - fileDate.nanosecondsSince1970)
        entryIndex = recovered.nextIndex
        lastName = record.files.last.flatMap { FinishedName($0.name, of: record.name) }
        formatter = RecordFormatter(format: settings.format, sensorType: record.stream, fields: record.fields)
        file = recovered.file
        if file == nil, record.file != nil {
            // It was cut off between two files.
            fileDate = .now
            try open(startDate: fileDate)
            markBeginning()
            try flush()
        }
    }

    // MARK: What is there

    /// How it is written, where that is not what the session says.
    var options: LogOptions { settings.options }

    /// Whether nothing can be written any more.
    var isClosed: Bool { file == nil }

    /// The name of the file being written; nil once it is finished, and not before.
    var openFile: String? { file == nil && sealed.isEmpty ? nil : name.fileName(settings.format) }

    /// Bytes of the file being written.
    var openBytes: Int { file?.byteCount ?? 0 }

    /// Bytes of all files.
    var byteCount: Int {
        files.reduce(openBytes) { $0 + $1.bytes } + sealed.reduce(0) { $0 + $1.bytes }
    }

    /// Whether files wait for their finishing.
    var isWaitingForFiles: Bool { !sealed.isEmpty }

    private var segment: Int { files.count + sealed.count }

    // MARK: Records

    /// Formats rows of a batch, all of one epoch. They follow on `position`, which is not moved.
    ///
    /// - Parameters:
    ///   - epoch: the batch's, as an index into `epochs`.
    ///   - origin: the publisher's uptime at the session's start, in nanoseconds.
    /// - Throws: `MessageError` with nothing changed, where rows can't be read.
    func append(
        _ rows: Range<Int>, of batch: ReceivedBatch, epoch: Int, origin: Int64, timeline: SessionTimeline
    ) throws(MessageError) {
        let start = buffer.count
        let result =
            if let packed = batch.packed {
                formatter.append(packed: packed, rows: rows, timeline: timeline, origin: origin, to: &buffer)
            } else {
                try formatter.append(
                    values: batch.body.values ?? 0..<0, of: batch.frame, count: batch.body.count, rows: rows,
                    timeline: timeline, origin: origin, to: &buffer)
            }
        self.origin = origin
        let first = batch.body.sequence + rows.lowerBound
        // A first row that is written has no place of its own.
        if result.written > 0, result.places.first?.written != 0 {
            jump(to: Position(epoch: epoch, next: first), at: start, samples: 0)
            noteRun(at: Position(epoch: epoch, next: first), samples: 0)
        }
        if result.paused == 0 {
            logged = Position(epoch: epoch, next: first + rows.count)
        } else {
            for place in result.places {
                let position = Position(epoch: epoch, next: batch.body.sequence + place.row)
                jump(to: position, at: place.offset, samples: place.written)
                noteRun(at: position, samples: place.written)
            }
            logged = nil
        }
        if epoch != position.epoch { intervals.breakOff() }
        intervals.add(result)
        counts.written += result.written
        counts.paused += result.paused
        bufferedSamples += result.written
        firstUptime = firstUptime ?? result.firstUptime
        lastUptime = result.lastUptime ?? lastUptime
    }

    /// Notes that what comes next is not what a reader would take it for.
    private func jump(to next: Position, at offset: Int, samples: Int) {
        defer { logged = nil }
        guard logged != next else { return }
        jumps.append(
            Jump(
                offset: offset, samples: bufferedSamples + samples, ended: endOfTold(before: next.epoch), position: next
            ))
    }

    /// Notes a sample that may not follow on the one before it in the buffer.
    private func noteRun(at position: Position, samples: Int) {
        let samples = bufferedSamples + samples
        if let last = runs.last, last.position.epoch == position.epoch,
            last.position.next + (samples - last.samples) == position.next
        {
            return
        }
        runs.append((samples, position))
    }

    /// How far the epoch has come that the journal spoke of last, if that is another one.
    private func endOfTold(before epoch: Int) -> Position? {
        guard toldEpoch != epoch else { return nil }
        defer { toldEpoch = epoch }
        return Position(epoch: toldEpoch, next: nexts[toldEpoch])
    }

    /// Adds a marker.
    /// - Parameters:
    ///   - date: when it happened, on the recorder's clock.
    ///   - origin: the publisher's uptime at the session's start, in nanoseconds.
    ///   - stepPath: the step after it.
    func mark(_ event: Marker.Event, at date: WallTime, origin: Int64, stepPath: String) {
        self.stepPath = stepPath
        self.origin = origin
        let describes = event == .start || event == .resumed
        appendMarker(event, at: date, describes: describes)
        // It says the place.
        if describes { logged = position }
        switch event {
        case .pause: isPaused = true
        case .resume: isPaused = false
        case .gap(let gap): note(gap)
        default: break
        }
    }

    /// Notes what a reader of the log makes of a gap's marker.
    private func note(_ gap: Gap) {
        bufferedGaps.append(gap)
        guard gap.count > 0, let epoch = epochs.lastIndex(of: gap.epoch) else { return }
        let end = gap.from.addingClamped(gap.count)
        if epoch == position.epoch {
            if logged?.epoch == epoch { logged = Position(epoch: epoch, next: end) }
        } else {
            // A later line about the current epoch alone would let this one's place be forgotten.
            jumps.append(
                Jump(
                    offset: buffer.count, samples: bufferedSamples, ended: Position(epoch: epoch, next: end),
                    position: position))
            nexts[epoch] = max(nexts[epoch], end)
            toldEpoch = position.epoch
            logged = position
        }
    }

    /// The uptime at the session's start, for markers that the log sets by itself.
    private var origin: Int64 = 0

    private func appendMarker(_ event: Marker.Event, at date: WallTime, describes: Bool) {
        var marker = Marker(
            event, time: date.nanosecondsSince1970 - settings.startDate.nanosecondsSince1970, date: date.localText,
            stepPath: stepPath)
        if describes {
            marker.description = description
            marker.position = Marker.Position(epoch: epochs[position.epoch], from: position.next)
        }
        formatter.append(marker, origin: origin, to: &buffer)
    }

    /// Whether so much waits in memory that it should be written.
    var isFull: Bool {
        if buffer.count > Self.writeSize { return true }
        guard let maximum = settings.maximumFileSize else { return false }
        return openBytes + buffer.count >= maximum
    }

    /// Writes what is in memory, the jumps to the journal first. `position` must be behind the last of it.
    /// - Parameter isLast: nothing follows, so no new file is begun.
    func flush(isLast: Bool = false) throws(RecordingError) {
        guard let file, buffer.count > 0 else { return }
        if !jumps.isEmpty {
            var entries: [JournalEntry] = []
            for jump in jumps {
                let bytes = file.length(adding: jump.offset)
                let samples = file.sampleCount + jump.samples
                if let ended = jump.ended { entries.append(entry(.position, ended, bytes: bytes, samples: samples)) }
                entries.append(entry(.position, jump.position, bytes: bytes, samples: samples))
            }
            try settings.journal.append(entries)
            // Jumps are rare, and a power cut must not keep the records and lose what tells their place.
            try settings.journal.sync()
        }
        try file.append(&buffer, samples: bufferedSamples)
        // Not before: after an error they are needed to say what could not be written.
        forgetBuffered()
        if !isLast, file.byteCount >= settings.maximumFileSize ?? .max, file.sampleCount > 0,
            sealed.count < Self.maximumSealed
        {
            try goOnInNewFile(fields: fields)
        }
    }

    private func forgetBuffered() {
        bufferedSamples = 0
        jumps.removeAll(keepingCapacity: true)
        runs.removeAll(keepingCapacity: true)
        bufferedGaps.removeAll(keepingCapacity: true)
    }

    /// Drops what is in memory, because it can't be written.
    /// - Returns: the samples that were in it, and the gaps that were marked in it.
    func abandon() -> (lost: [Gap], marked: [Gap]) {
        let ends = runs.dropFirst().map(\.samples) + [bufferedSamples]
        let lost = zip(runs, ends).compactMap { run, end -> Gap? in
            guard end > run.samples else { return nil }
            return Gap(
                epoch: epochs[run.position.epoch], from: run.position.next, count: end - run.samples,
                reason: .notWritten)
        }
        let marked = bufferedGaps
        counts.written -= bufferedSamples
        buffer.removeAll()
        forgetBuffered()
        logged = nil
        return (lost, marked)
    }

    private func entry(
        _ kind: JournalEntry.Kind, _ position: Position, bytes: Int, samples: Int
    ) -> JournalEntry {
        defer { entryIndex += 1 }
        return JournalEntry(
            kind, index: entryIndex, log: name, segment: segment, bytes: bytes, samples: samples,
            epoch: epochs[position.epoch], next: position.next, counts: counts, date: .now)
    }

    /// Where the file after this one begins: valid once this one has its final name.
    private func entry(sealing file: LogFile) -> JournalEntry {
        defer { entryIndex += 1 }
        return JournalEntry(
            .position, index: entryIndex, log: name, segment: segment + 1, bytes: 0, samples: 0,
            epoch: epochs[position.epoch], next: position.next, counts: counts, sealedBytes: file.byteCount,
            date: .now)
    }

    // MARK: Files

    /// What the next group commit covers; nil where nothing is new.
    func commitPoint() throws(RecordingError) -> CommitPoint? {
        // What is counted as taken is written, so that the journal's numbers mean the same sample.
        try flush()
        guard let file else { return nil }
        if let committed, committed.segment == segment, committed.bytes == file.byteCount,
            committed.next == position.next
        {
            return nil
        }
        var entries: [JournalEntry] = []
        if let ended = endOfTold(before: position.epoch) {
            entries.append(entry(.position, ended, bytes: file.byteCount, samples: file.sampleCount))
        }
        let last = entry(.commit, position, bytes: file.byteCount, samples: file.sampleCount)
        entries.append(last)
        committed = last
        return CommitPoint(
            file: file.handle, stableBytes: file.stableByteCount, log: name, segment: segment, entries: entries)
    }

    /// Goes on in a new file if this one is old enough and holds something.
    func goOnIfOld() throws(RecordingError) {
        guard let maximum = settings.maximumFileAge, let file, file.sampleCount + bufferedSamples > 0,
            MonotonicClock.now - fileBegan >= maximum, sealed.count < Self.maximumSealed
        else { return }
        try flush()
        // Writing may have done it.
        if self.file === file { try goOnInNewFile(fields: fields) }
    }

    /// Goes on in a new file with other columns.
    func change(to fields: [String]) throws(RecordingError) {
        try flush()
        try goOnInNewFile(fields: fields)
    }

    /// Gives the last file its final name. Nothing can be written any more.
    func close() throws(RecordingError) {
        guard let file else { return }
        try flush(isLast: true)
        try seal(file)
    }

    /// Files that were not asked for before, to be finished, in order.
    func takeSealed() -> [SealedSegment] {
        defer { sealedTaken = sealed.count }
        return (sealedTaken..<sealed.count).map { index in
            SealedSegment(log: name, segment: files.count + index, file: sealed[index])
        }
    }

    /// Has the files that could not be finished asked for again.
    func keepSealed() { sealedTaken = 0 }

    /// Notes that the oldest of the sealed files is finished.
    /// - Returns: false where it is another one.
    func add(_ finished: FinishedFile) -> Bool {
        guard sealed.first?.name.description == finished.name else { return false }
        sealed.removeFirst()
        sealedTaken = max(0, sealedTaken - 1)
        files.append(finished)
        return true
    }

    private func seal(_ file: LogFile) throws(RecordingError) {
        // Where the log goes on or ends, for who finds the file with its final name and nothing else. Without this line
        // the file has to be read for it.
        try? settings.journal.append([entry(sealing: file)])
        let sealed = try file.seal(at: .now, after: lastName)
        lastName = sealed.name
        self.file = nil
        self.sealed.append(sealed)
    }

    private func goOnInNewFile(fields: [String]) throws(RecordingError) {
        guard let old = file else { return }
        try seal(old)
        if fields != self.fields {
            self.fields = fields
            formatter = RecordFormatter(format: settings.format, sensorType: formatter.sensorType, fields: fields)
        }
        fileDate = .now
        fileBegan = MonotonicClock.now
        try open(startDate: fileDate)
        toldEpoch = position.epoch
        logged = position
        markBeginning()
        try flush()
    }

    /// The first records of a file that is not a log's first: what is needed to read it.
    private func markBeginning() {
        appendMarker(.step, at: fileDate, describes: true)
        if isPaused { appendMarker(.pause, at: fileDate, describes: false) }
    }

    private func open(startDate: WallTime) throws(RecordingError) {
        file = try LogFile(
            creating: name, in: settings.directory, format: settings.format, root: settings.root,
            startDate: startDate.localText, header: formatter.header)
    }
}
