package import Files
package import Messages
package import Recording
import ServiceKit

/// The log of one stream: formats records into the write-ahead log, and decides where one stream file ends and the next one
/// begins.
///
/// Confined to the recording engine's thread. It touches no file: a `FileWriter` carries out the frames.
package final class StreamLog {
    /// The stream file being written.
    private struct CurrentFile {
        /// The file's length without the terminator.
        var bytes: Int
        var samples = 0
        var hasRecords = false
    }

    /// The times of a file that waits to be finished.
    private struct SealedTimes {
        /// The times of the file's samples, in seconds since the session's start; nil if they are unknown.
        let samples: ClosedRange<Double>?
        /// The wall clock's earliest and latest date while the file was open.
        let dates: ClosedRange<WallTime>
        /// When the file got its final name, on the monotonic clock.
        let finishedAt: Int64
    }

    /// Most files that may wait to be finished. A slower disk gets longer files, not more of them.
    private static let maximumSealed = 4
    /// Most bytes that the records of one batch may have besides their values. They are formatted into memory at once.
    private static let maximumBatchText = 256 << 20

    /// The stored state of the log.
    package var record: SessionRecord.Log
    /// The stream's epochs, in the order in which they were met.
    package var epochs: [PublisherEpoch]
    /// The stream's position after all samples written, left out or given up: the index of the last sample's epoch, and the
    /// number of the next sample in that epoch.
    package private(set) var epoch: Int
    package var next: Int
    /// When the session started, on the recorder's clock.
    package let startDate: WallTime
    package let appender: LogAppender
    /// The number of the log's frames in the write-ahead log.
    package let number: UInt32
    /// Whether a new file was begun because the previous one is missing.
    private(set) var isBegunAgain = false

    /// The session's step at any time, and whether the stream is paused.
    package var timeline: SessionTimeline

    /// Markers have the session's date.
    let clock: SessionClock
    private let directory: Directory
    private let format: LogFormat
    private let root: JSONRoot
    /// Bytes after which a file is rotated. Batches are not split, so a file may be longer by one batch.
    private var maximumFileSize: Int?
    /// Nanoseconds after which a file is rotated.
    private var maximumFileAge: Int64?
    private let terminatorLength: Int
    /// When the file being written was begun, on the monotonic clock: a wall clock that is set back must not make a file young.
    private var fileBegan: Int64
    /// The wall clock's earliest and latest date since the file was begun: it may be set meanwhile.
    private var dates: ClosedRange<WallTime>
    private var file: CurrentFile?
    /// Files that have their final name and wait to be finished.
    private var sealed: [FileEnd] = []
    /// Whether the session has a ring, which needs the times of a file's samples.
    private let hasRing: Bool
    /// The times of the first and the last sample of the file being written, in seconds since the session's start; nil if there
    /// is none. Unknown, by `areTimesKnown`, if an earlier recorder wrote part of the file.
    private var times: ClosedRange<Double>?
    private var areTimesKnown = true
    /// The times of the sealed files, in the same order.
    private var sealedTimes: [SealedTimes] = []
    /// When this process finished files, on the monotonic clock, in the order of the files; they are the last of the finished
    /// ones. Only with a ring.
    private var finishedAt: [Int64] = []
    /// How many finished files the ring needs no longer consider: they were removed, or they stay.
    private var ringNext = 0
    /// Files that the ring could not remove and leaves in place.
    private var ringRefused: Set<String> = []
    private var lastName: FinishedName?
    private var formatter: RecordFormatter
    /// Whether samples were left out after the last record.
    private var hasSkipped = false

    /// - Parameters:
    ///   - record: the log's state so far.
    ///   - epoch: the index of the current epoch.
    ///   - next: the number of its next sample.
    package init(
        _ record: SessionRecord.Log, _ epochs: [PublisherEpoch], epoch: Int, next: Int, of session: SessionRecord,
        timeline: SessionTimeline, clock: SessionClock, in directory: Directory, appender: LogAppender, at now: Moment
    ) {
        fileBegan = now.monotonic
        let fileDate = record.fileDate ?? session.startDate
        dates = fileDate...fileDate
        self.clock = clock
        self.timeline = timeline
        self.record = record
        self.epochs = epochs
        self.epoch = epoch
        self.next = next
        self.directory = directory
        self.appender = appender
        startDate = session.startDate
        hasRing = session.limits.keep != nil
        format = session.format(of: record)
        root = session.root
        (maximumFileSize, maximumFileAge) = Self.limits(of: record, in: session)
        terminatorLength = LogFile.terminator(format, root).count
        lastName = record.files.last.flatMap { FinishedName($0.name, of: record.name) }
        formatter = RecordFormatter(
            format: format, sensorType: record.stream, fields: record.fields, types: record.types)
        number = appender.number(session.session, record.name)
        if record.intervals == nil { self.record.intervals = IntervalStatistics(nominalRate: record.rate) }
        self.record.fileDate = fileDate
    }

    /// Takes the recovered state of an interrupted log.
    package func take(_ recovered: RecoveredLog, at now: Moment) {
        record.intervals?.breakOff()
        areTimesKnown = recovered.file == nil
        fileBegan = now.monotonic - max(0, now.date.nanosecondsSince1970 - fileDate.nanosecondsSince1970)
        file = recovered.file.map {
            CurrentFile(bytes: $0.bytes - terminatorLength, samples: $0.samples, hasRecords: true)
        }
    }

    // MARK: Identity

    package var name: LogName { record.name }

    /// Whether no file is open, so that nothing can be written any more.
    var isClosed: Bool { file == nil }

    /// The name of the file being written; nil only once every file is finished.
    var openFile: String? { file == nil && sealed.isEmpty ? nil : name.fileName(format) }

    /// Bytes of the file being written.
    var openBytes: Int { file.map { $0.bytes + terminatorLength } ?? 0 }

    /// Bytes of all files.
    var byteCount: Int {
        record.files.reduce(openBytes) { $0 + $1.bytes } + sealed.reduce(0) { $0 + $1.bytes }
    }

    /// Whether files wait to be finished.
    package var isWaitingForFiles: Bool { !sealed.isEmpty }

    /// Where the stream's files stand once everything written so far is in them; nil if no file is open.
    package var place: DurablePlace? {
        file.map { file in
            DurablePlace(
                file: index, bytes: file.bytes + terminatorLength, samples: file.samples,
                epoch: epochs[epoch].name, next: next)
        }
    }

    private var index: Int { record.files.count + sealed.count }

    private var fileDate: WallTime { record.fileDate ?? startDate }

    // MARK: Records

    /// Refuses so many samples that the names in their records would take too much memory.
    package func checkText(of count: Int) throws(MessageError) {
        guard count * formatter.rowText <= Self.maximumBatchText else {
            throw MessageError(
                .outOfRange,
                "the records of \(count) samples would have more than "
                    + "\(ByteCount(bytes: Self.maximumBatchText)) besides their values; send smaller batches")
        }
    }

    /// Formats rows of a batch, all of one epoch, and advances the position past them.
    ///
    /// - Parameters:
    ///   - epoch: the index of the batch's epoch.
    ///   - isRecovered: whether the samples were replayed.
    /// - Throws: `MessageError` if rows can't be read; nothing is changed then.
    package func append(
        _ rows: Range<Int>, of batch: ReceivedBatch, epoch: Int, isRecovered: Bool, at now: Moment
    ) throws(MessageError) {
        let origin = try origin(of: batch, from: rows.lowerBound, epoch: epoch)
        let begun = appender.beginRecords(of: number, file: index, epoch: epoch)
        let start = appender.buffer.count
        let result: FormattedRows
        do throws(MessageError) {
            if let packed = batch.packed {
                result = formatter.append(
                    packed: packed, rows: rows, timeline: timeline, origin: origin, to: &appender.buffer)
            } else {
                result = try formatter.append(
                    values: batch.body.values ?? 0..<0, of: batch.frame, count: batch.body.count, rows: rows,
                    timeline: timeline, origin: origin, to: &appender.buffer)
            }
        } catch {
            appender.cancelRecords(begun)
            throw error
        }
        let startsPaused = result.places.first?.written == 0 || result.written == 0
        let followsOnNothing = epoch != self.epoch || hasSkipped && !startsPaused
        if followsOnNothing || !result.places.isEmpty {
            // Without a marker, a reader of the file could not know which samples follow.
            appender.cancelRecords(begun)
            var rest = rows
            if followsOnNothing {
                markPosition(epoch, next: batch.body.sequence + rows.lowerBound, at: clock.date(at: now))
            } else {
                let middle = result.places.first?.row ?? rows.upperBound
                try append(rows.lowerBound..<middle, of: batch, epoch: epoch, isRecovered: isRecovered, at: now)
                rest = middle..<rows.upperBound
            }
            return try append(rest, of: batch, epoch: epoch, isRecovered: isRecovered, at: now)
        }
        hasSkipped = result.endsPaused || hasSkipped && result.written == 0
        record.intervals?.add(result)
        record.counts.written += result.written
        record.counts.paused += result.paused
        if isRecovered { record.counts.recovered += result.written + result.paused }
        record.firstUptime = record.firstUptime ?? result.firstUptime
        record.lastUptime = result.lastUptime ?? record.lastUptime
        next = batch.body.sequence + rows.upperBound
        if result.written > 0 { record.isMarkedStopped = nil }
        if hasRing, let first = result.firstUptime, let last = result.lastUptime {
            noteTimes(first - Double(origin) / 1e9, last - Double(origin) / 1e9)
        }
        endRecords(bytes: appender.buffer.count - start, samples: result.written)
        if let maximumFileSize, openBytes >= maximumFileSize { _ = rotate(at: now) }
    }

    /// Notes that samples are left out before the next one: the file then states the next one's number.
    package func noteLeftOut() { hasSkipped = true }

    /// The nanoseconds to subtract from a batch's uptimes, from a row on, to get times since the session's start.
    private func origin(of batch: ReceivedBatch, from row: Int, epoch: Int) throws(MessageError) -> Int64 {
        guard epochs[epoch].hasSlept else { return epochs[epoch].start }
        return epochs[epoch].origin(at: try batch.uptime(ofRow: row) ?? .max)
    }

    private func endRecords(bytes: Int, samples: Int) {
        guard let old = file else { return }
        // In JSON, separators stand between records, not in front of the first.
        let skipped = old.hasRecords || format != .json || bytes == 0 ? 0 : format.separator.utf8.count
        file = CurrentFile(
            bytes: old.bytes + bytes - skipped, samples: old.samples + samples, hasRecords: old.hasRecords || bytes > 0)
        appender.endRecords(
            RecordsHead(
                file: index, offset: old.bytes, samples: old.samples + samples, epoch: epoch, next: next,
                counts: record.counts, firstUptime: record.firstUptime, lastUptime: record.lastUptime,
                isMarkedStopped: record.isMarkedStopped == true))
    }

    /// Adds a marker.
    /// - Parameters:
    ///   - date: when the event happened, on the recorder's clock.
    ///   - stepPath: the step after the event, if it is not the current one.
    package func mark(_ event: Marker.Event, at date: WallTime, stepPath: String? = nil) {
        guard !isClosed else { return }
        record.isMarkedStopped = event == .stop ? true : nil
        if case .gap(let gap) = event { appender.append(gap, of: number) }
        let describes = event == .start || event == .resumed
        if describes { hasSkipped = false }
        appendMarker(event, at: date, stepPath: stepPath, describes: describes)
    }

    /// Adds a marker for an annotation, at the annotation's own time and in the step of that time.
    package func mark(_ annotation: Annotation) {
        guard !isClosed else { return }
        record.isMarkedStopped = nil
        let time = annotation.from.nanosecondsSince1970 - startDate.nanosecondsSince1970
        appendMarker(
            .annotation(label: annotation.label), at: annotation.date, time: time,
            stepPath: timeline.span(at: time).state.stepPath)
    }

    /// Writes the number of the next sample into the file. Otherwise, a reader counts on from the previous sample.
    private func markPosition(_ epoch: Int, next: Int, at date: WallTime) {
        move(to: epoch, next: next)
        hasSkipped = false
        appendMarker(.position, at: date, isPlaced: true)
    }

    private func move(to epoch: Int, next: Int) {
        if epoch != self.epoch { record.intervals?.breakOff() }
        self.epoch = epoch
        self.next = next
    }

    private func appendMarker(
        _ event: Marker.Event, at date: WallTime, time: Int64? = nil, stepPath: String? = nil, describes: Bool = false,
        isPlaced: Bool = false
    ) {
        var marker = Marker(
            event, time: time ?? date.nanosecondsSince1970 - startDate.nanosecondsSince1970, date: date.localText,
            stepPath: stepPath ?? timeline.current.stepPath)
        if describes || isPlaced && epochs.contains(where: { $0.record.differsFromLog }) {
            marker.description = record.describing(epochs[epoch].record)
        }
        if describes || isPlaced { marker.position = Marker.Position(epoch: epochs[epoch].name, next: next) }
        _ = appender.beginRecords(of: number, file: index, epoch: epoch)
        let start = appender.buffer.count
        formatter.append(marker, origin: epochs[epoch].origin(at: .max), to: &appender.buffer)
        endRecords(bytes: appender.buffer.count - start, samples: 0)
    }

    // MARK: Files

    /// Begins the first file.
    package func open() {
        let beginning = FileBeginning(
            index: index, format: format, root: root, startDate: fileDate.localText, header: formatter.header)
        appender.append(beginning, of: number)
        file = CurrentFile(bytes: LogFile.opening(beginning).count)
    }

    /// Begins a file for an interrupted log that has none.
    func openAgain(at now: Moment) {
        isBegunAgain = true
        openNext(at: now)
    }

    /// Begins a file that is not the log's first, with everything needed to read it.
    private func openNext(at now: Moment) {
        record.fileDate = now.date
        dates = now.date...now.date
        fileBegan = now.monotonic
        open()
        hasSkipped = false
        let date = clock.date(at: now)
        appendMarker(.step, at: date, describes: true)
        if timeline.current.isPaused { appendMarker(.pause, at: date) }
    }

    /// Rotates the file if it is old enough and has samples.
    package func rotateIfExpired(at now: Moment) {
        if let maximumFileAge, now.monotonic - fileBegan >= maximumFileAge { _ = rotate(at: now) }
    }

    /// Notes the wall clock's date, for the file being written.
    func noteDate(_ date: WallTime) {
        dates = min(dates.lowerBound, date)...max(dates.upperBound, date)
    }

    /// Applies changed limits.
    /// - Returns: whether they differ from the previous ones.
    package func limit(by configuration: LogConfiguration, in session: SessionRecord, at now: Moment) -> Bool {
        let old = (maximumFileSize, maximumFileAge)
        record.limit(by: configuration, in: session)
        (maximumFileSize, maximumFileAge) = Self.limits(of: record, in: session)
        if old == (maximumFileSize, maximumFileAge) { return false }
        if let maximumFileSize, openBytes >= maximumFileSize { _ = rotate(at: now) }
        return true
    }

    private static func limits(of record: SessionRecord.Log, in session: SessionRecord) -> (size: Int?, age: Int64?) {
        (
            session.limits.maximumFileSize ?? record.maximumFileSize,
            (session.limits.maximumFileAge ?? record.maximumFileAge).map { Int64(nanosecondsIn: $0) }
        )
    }

    /// Finishes the file being written and begins the next one, if the file has samples and fewer than `maximumSealed` files
    /// wait.
    /// - Returns: the index of the finished file in the log; nil if the file stays open.
    package func rotate(at now: Moment) -> Int? {
        guard let file, file.samples > 0, sealed.count < Self.maximumSealed else { return nil }
        let finished = index
        close(at: now)
        openNext(at: now)
        return finished
    }

    /// Continues in a new file with other columns, at the next sample.
    package func change(to fields: [String], _ types: [FieldType]?, epoch: Int, next: Int, at now: Moment) {
        move(to: epoch, next: next)
        close(at: now)
        record.fields = fields
        record.types = types
        formatter = RecordFormatter(format: format, sensorType: record.stream, fields: fields, types: types)
        openNext(at: now)
    }

    /// Gives the file its final name. Nothing can be written into it any more.
    package func close(at now: Moment) {
        guard let file else { return }
        let name = FinishedName(log: name, finishedAt: now.date, after: lastName, format: format).free(in: directory)
        let end = FileEnd(
            index: index, name: name.description, bytes: file.bytes + terminatorLength, samples: file.samples)
        appender.append(end, of: number)
        lastName = name
        sealed.append(end)
        noteDate(now.date)
        sealedTimes.append(SealedTimes(samples: areTimesKnown ? times : nil, dates: dates, finishedAt: now.monotonic))
        times = nil
        areTimesKnown = true
        self.file = nil
    }

    /// Notes that the oldest of the sealed files is finished.
    /// - Returns: false if `finished` is another file.
    package func add(_ finished: FinishedFile) -> Bool {
        guard sealed.first?.name == finished.name else { return false }
        sealed.removeFirst()
        var finished = finished
        let times = sealedTimes.removeFirst()
        finished.from = times.samples?.lowerBound
        finished.to = times.samples?.upperBound
        if hasRing {
            finished.begun = times.dates.lowerBound.seconds(since: startDate)
            finished.ended = times.dates.upperBound.seconds(since: startDate)
            finishedAt.append(times.finishedAt)
        }
        record.files.append(finished)
        return true
    }

    // MARK: The ring

    private func noteTimes(_ first: Double, _ last: Double) {
        guard first.isFinite, last.isFinite else { return areTimesKnown = false }
        let (first, last) = (min(first, last), max(first, last))
        times = times.map { min($0.lowerBound, first)...max($0.upperBound, last) } ?? first...last
    }

    /// The finished files that a ring removes next.
    /// - Parameters:
    ///   - announced: how many of the finished files `session.json` lists.
    ///   - limit: most files to return.
    func expired(_ ring: FileRing, announced: Int, limit: Int, at now: Moment) -> [FinishedFile] {
        let end = min(announced, record.files.count)
        while ringNext < end {
            let file = record.files[ringNext]
            guard file.removed != nil || ringRefused.contains(file.name) || ring.isKept(file, of: name) else { break }
            ringNext += 1
        }
        guard ringNext < end else { return [] }
        var expired: [FinishedFile] = []
        let earlier = record.files.count - finishedAt.count
        for index in ringNext..<end {
            let file = record.files[index]
            if file.removed != nil || ringRefused.contains(file.name) { continue }
            let time: Int64? = index < earlier ? nil : finishedAt[index - earlier]
            guard expired.count < limit, ring.isExpired(file, of: name, finishedAt: time, at: now) else { break }
            if !ring.isKept(file, of: name) { expired.append(file) }
        }
        return expired
    }

    /// Notes which files the ring removed or could not remove.
    /// - Parameter refused: the files that stay, with the reasons.
    /// - Returns: the removed files, and how many files were finished before each.
    func noteRemoval(
        of files: [FinishedFile], refused: [String: String], at date: WallTime
    ) -> [(file: FinishedFile, index: Int)] {
        let names = Set(files.map(\.name))
        var removed: [(file: FinishedFile, index: Int)] = []
        for index in record.files.indices[ringNext...] where names.contains(record.files[index].name) {
            if refused[record.files[index].name] != nil {
                ringRefused.insert(record.files[index].name)
            } else {
                record.files[index].removed = date
                removed.append((record.files[index], index))
            }
        }
        return removed
    }
}
