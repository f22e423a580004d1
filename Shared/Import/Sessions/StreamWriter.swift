import Files
import Messages
import Recording

/// Writes the samples of one stream into its files.
final class StreamWriter {
    private(set) var log: SessionRecord.Log

    private let directory: Directory
    private let root: JSONRoot
    private let startDate: WallTime
    private let timeline: SessionTimeline
    private let maximumFileSize: Int
    private let format: LogFormat
    private var formatter: RecordFormatter
    private var file: LogFile
    /// Records that are not in the file yet, and how many of them are samples.
    private var buffer = ByteBuffer(capacity: 2 * bufferSize)
    private var buffered = 0
    /// Rows that are not formatted yet: JSON arrays separated by commas.
    private var rows = ByteBuffer(capacity: bufferSize)
    private var rowCount = 0
    /// Reused memory for a block's numbers.
    private var packed: [UInt64] = []
    /// The number of the next sample in its run.
    private var next = 0
    private var finished: FinishedName?
    /// The time of the last sample or event, in nanoseconds since the session's start.
    private(set) var lastTime: Int64 = 0

    private static let bufferSize = 256 << 10
    private static let rowsAtOnce = 256
    /// Bytes that an import leaves free on the disk, for sessions that are being recorded.
    private static let reserve = 64 << 20

    init(
        _ stream: ImportedStream, named name: LogName, in directory: Directory, _ record: SessionRecord,
        maximumFileSize: Int
    ) throws(RecordingError) {
        let fields = ["uptime"] + stream.fields
        let types = stream.types.map { [.number] + $0 }
        var log = SessionRecord.Log(
            name: name, device: stream.name.device, stream: stream.name.stream, fields: fields, types: types,
            unit: stream.unit, rate: stream.rate, epochs: [Self.epoch(stream.run, stream.origin, record.startDate)])
        log.intervals = IntervalStatistics(nominalRate: stream.rate)
        let formatter = RecordFormatter(
            format: record.format, sensorType: stream.name.stream, fields: fields, types: types)
        let beginning = FileBeginning(
            index: 0, format: record.format, root: record.root, startDate: record.startDate.utcText,
            header: formatter.header)
        file = try LogFile(creating: name, in: directory, beginning)
        self.log = log
        self.directory = directory
        root = record.root
        startDate = record.startDate
        timeline = SessionTimeline(record)
        self.maximumFileSize = maximumFileSize
        format = record.format
        self.formatter = formatter
        mark(.start, describes: true)
    }

    private static func epoch(
        _ run: String, _ origin: DataOrigin?, _ startDate: WallTime
    ) -> SessionRecord.Epoch {
        var epoch = SessionRecord.Epoch(epoch: run, clock: ClockReading(uptime: 0, date: startDate), replay: "")
        epoch.origin = origin
        return epoch
    }

    // MARK: Samples

    func append(_ block: SampleBlock) throws(RecordingError) {
        try formatRows()
        let columns = log.fields.count - 1
        precondition(block.values.count == block.times.count * columns, "a block has whole samples")
        packed.removeAll(keepingCapacity: true)
        for (row, time) in block.times.enumerated() {
            packed.append(uptime(time).bitPattern.littleEndian)
            for column in 0..<columns { packed.append(block.values[row * columns + column].bitPattern.littleEndian) }
        }
        let result = packed.withUnsafeBytes { bytes in
            formatter.append(packed: bytes, rows: 0..<block.times.count, timeline: timeline, origin: 0, to: &buffer)
        }
        try note(result)
    }

    func append(_ values: [UInt8], at time: Int64) throws(RecordingError) {
        guard values.count <= RecordValues.maximumRecordBytes else {
            throw .notImported(
                "a row of it has more than \(RecordValues.maximumRecordBytes) bytes",
                "Leave out the column that has them.")
        }
        rows.append(utf8: rowCount == 0 ? "[[" : ",[")
        rows.append(json: uptime(time))
        if !values.isEmpty { rows.append(UInt8(ascii: ",")) }
        rows.append(values)
        rows.append(UInt8(ascii: "]"))
        rowCount += 1
        if rowCount == Self.rowsAtOnce || rows.count > Self.bufferSize { try formatRows() }
    }

    /// Formats the waiting rows, so that `lastTime` is that of the last sample.
    func formatRows() throws(RecordingError) {
        guard rowCount > 0 else { return }
        rows.append(UInt8(ascii: "]"))
        let count = rowCount
        let result: FormattedRows
        do throws(MessageError) {
            result = try rows.withUnsafeBytes { bytes throws(MessageError) -> FormattedRows in
                try formatter.append(
                    values: 0..<bytes.count, of: bytes, count: count, rows: 0..<count, timeline: timeline, origin: 0,
                    to: &buffer)
            }
        } catch {
            throw .notImported("it has values that can't be written: \(error.message)", "Leave out their column.")
        }
        rows.removeAll()
        rowCount = 0
        try note(result)
    }

    private func note(_ result: FormattedRows) throws(RecordingError) {
        log.intervals?.add(result)
        log.counts.written += result.written
        log.firstUptime = log.firstUptime ?? result.firstUptime
        log.lastUptime = result.lastUptime ?? log.lastUptime
        next += result.written
        buffered += result.written
        lastTime = max(lastTime, Int64(nanosecondsIn: result.lastUptime ?? 0))
        if buffer.count >= min(Self.bufferSize, maximumFileSize) { try write() }
    }

    /// Seconds since the session's start.
    private func uptime(_ time: Int64) -> Double { Double(time &- startDate.nanosecondsSince1970) / 1e9 }

    // MARK: Between samples

    func lose(_ count: Int, _ reason: Gap.Reason) throws(RecordingError) {
        try formatRows()
        let epoch = log.epochs[log.epochs.count - 1].epoch
        let gap = Gap(epoch: epoch, from: next, count: count, reason: reason, afterUptime: log.lastUptime)
        mark(.gap(gap))
        next = next.addingClamped(count)
        log.gaps.append(gap)
    }

    func leaveOut(duplicates count: Int) { log.counts.duplicates += count }

    func begin(_ run: String) throws(RecordingError) {
        try formatRows()
        log.epochs[log.epochs.count - 1].next = next
        log.epochs.append(Self.epoch(run, log.origin, startDate))
        log.intervals?.breakOff()
        next = 0
        mark(.position, isPlaced: true)
    }

    /// - Parameter time: nanoseconds since the session's start.
    func change(_ event: Marker.Event, at time: Int64) throws(RecordingError) {
        try formatRows()
        log.intervals?.breakOff()
        lastTime = max(lastTime, time)
        mark(event)
    }

    private func mark(_ event: Marker.Event, describes: Bool = false, isPlaced: Bool = false) {
        let date = WallTime(nanosecondsSince1970: startDate.nanosecondsSince1970 + lastTime)
        var marker = Marker(
            event, time: lastTime, date: date.utcText, stepPath: timeline.current.stepPath,
            description: describes ? log : nil)
        if describes || isPlaced {
            marker.position = Marker.Position(epoch: log.epochs[log.epochs.count - 1].epoch, next: next)
        }
        formatter.append(marker, origin: 0, to: &buffer)
    }

    // MARK: Files

    private func write() throws(RecordingError) {
        guard try directory.freeBytes() >= Self.reserve + buffer.count else {
            throw RecordingError(
                .noSpace, action: "import into", path: directory.path,
                reason: "less than \(Self.reserve >> 20) MiB of its disk would stay free",
                advice: "Free some space, and import again.")
        }
        try file.append(&buffer, samples: buffered)
        buffered = 0
        guard file.byteCount >= maximumFileSize, file.sampleCount > 0 else { return }
        try finishFile()
        file = try LogFile(
            creating: log.name, in: directory,
            FileBeginning(
                index: log.files.count, format: format, root: root, startDate: startDate.utcText,
                header: formatter.header))
        mark(.step, describes: true)
    }

    private func finishFile() throws(RecordingError) {
        let date = WallTime(nanosecondsSince1970: startDate.nanosecondsSince1970 + lastTime)
        let name = FinishedName(log: log.name, finishedAt: date, after: finished, format: format)
        try file.handle.syncAll()
        try file.seal(as: name)
        finished = name
        var hash = file.hash
        try hash.update(file.handle, upTo: file.byteCount, atMost: .max)
        log.files.append(
            FinishedFile(
                name: name.description, bytes: file.byteCount, samples: file.sampleCount, sha256: hash.digits))
    }

    /// Ends the stream.
    /// - Parameter time: the session's end, in nanoseconds since its start.
    func finish(at time: Int64) throws(RecordingError) {
        try formatRows()
        lastTime = max(lastTime, time)
        mark(.stop)
        try file.append(&buffer, samples: buffered)
        try finishFile()
        log.epochs[log.epochs.count - 1].next = next
        log.isEndKnown = true
        log.isMarkedStopped = true
    }
}
