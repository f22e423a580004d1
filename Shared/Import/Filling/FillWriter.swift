import Files
import Messages
import Recording
import SystemPackage

/// Writes the samples filled into a stream: a file of the stream's format, in which a `position` marker before each part gives
/// the number of the next sample.
final class FillWriter {
    private let log: SessionRecord.Log
    private let record: SessionRecord
    private let timeline: SessionTimeline
    private let file: LogFile
    private var formatter: RecordFormatter
    private var buffer = ByteBuffer(capacity: 2 * bufferSize)
    private var buffered = 0
    private var hasBegun = false
    private let calls: FileCalls

    private static let bufferSize = 256 << 10

    /// - Parameter directory: a directory without a stream file of this name.
    init(
        _ log: SessionRecord.Log, of record: SessionRecord, in directory: Directory, calls: FileCalls
    ) throws(RecordingError) {
        let format = record.format(of: log)
        let formatter = RecordFormatter(
            format: format, sensorType: log.stream, fields: log.fields, types: log.types)
        file = try LogFile(
            creating: log.name, in: directory,
            FileBeginning(
                index: 0, format: format, root: record.root, startDate: record.startDate.utcText,
                header: formatter.header), calls: calls)
        self.log = log
        self.record = record
        self.formatter = formatter
        self.calls = calls
        timeline = Self.timeline(of: log, record)
    }

    /// The steps and pauses of a stream.
    static func timeline(of log: SessionRecord.Log, _ record: SessionRecord) -> SessionTimeline {
        let name = StreamName(device: log.device, stream: log.stream)
        return SessionTimeline(record, of: record.isApart(name) ? name : nil)
    }

    /// Begins a part.
    /// - Parameters:
    ///   - uptime: the uptime of its first sample, in nanoseconds.
    ///   - origin: the publisher's uptime at the session's start, in nanoseconds.
    func begin(_ epoch: String, from number: Int, at uptime: Int64, origin: Int64) {
        let time = uptime &- origin
        let date = WallTime(nanosecondsSince1970: record.startDate.nanosecondsSince1970.addingClamped(time))
        formatter.append(
            Marker(
                hasBegun ? .position : .start, time: time, date: date.utcText,
                stepPath: timeline.span(at: time).state.stepPath,
                description: hasBegun && !log.epochs.contains(where: \.differsFromLog)
                    ? nil : log.describing(log.epoch(epoch)),
                position: Marker.Position(epoch: epoch, next: number)),
            origin: origin, to: &buffer)
        hasBegun = true
    }

    func append(_ values: SampleValues, at uptime: Int64, origin: Int64) throws(RecordingError) {
        let seconds = Double(uptime) / 1e9
        switch values {
        case .numbers(let numbers):
            let packed = ([seconds] + numbers).map(\.bitPattern.littleEndian)
            _ = packed.withUnsafeBytes { bytes in
                formatter.append(packed: bytes, rows: 0..<1, timeline: timeline, origin: origin, to: &buffer)
            }
        case .record(let json):
            var rows = ByteBuffer(capacity: json.count + 64)
            rows.append(utf8: "[[")
            rows.append(json: seconds)
            rows.append(UInt8(ascii: ","))
            rows.append(json)
            rows.append(utf8: "]]")
            try rows.withUnsafeBytes { bytes throws(RecordingError) in
                try append(
                    values: 0..<bytes.count, of: bytes, count: 1, rows: 0..<1, origin: origin,
                    advice: "Leave the table out of the export.")
            }
        }
        try note(1)
    }

    /// Adds rows of a batch, with their original digits. None of them may be of a pause.
    func append(_ rows: Range<Int>, of batch: ReceivedBatch, origin: Int64) throws(RecordingError) {
        if let packed = batch.packed {
            _ = formatter.append(packed: packed, rows: rows, timeline: timeline, origin: origin, to: &buffer)
        } else {
            try append(
                values: batch.body.values ?? 0..<0, of: batch.frame, count: batch.body.count, rows: rows,
                origin: origin,
                advice: "Update the program that publishes it.")
        }
        try note(rows.count)
    }

    /// Adds rows of a JSON matrix.
    private func append(
        values: Range<Int>, of bytes: UnsafeRawBufferPointer, count: Int, rows: Range<Int>, origin: Int64,
        advice: String
    ) throws(RecordingError) {
        do throws(MessageError) {
            _ = try formatter.append(
                values: values, of: bytes, count: count, rows: rows, timeline: timeline, origin: origin, to: &buffer)
        } catch {
            throw .notFilled(
                "\(log.device)/\(log.stream) has a value that can't be written: \(error.message)", advice)
        }
    }

    /// Counts added samples, and writes the buffer if it is full.
    private func note(_ samples: Int) throws(RecordingError) {
        buffered += samples
        if buffer.count >= Self.bufferSize { try write() }
    }

    private func write() throws(RecordingError) {
        try file.append(&buffer, samples: buffered)
        buffered = 0
    }

    /// Writes the rest, makes the file durable, and gives it its final name.
    func finish(_ fill: Int, _ gaps: [SessionRecord.FilledGap]) throws(RecordingError)
        -> SessionRecord.FilledFile
    {
        try write()
        try file.handle.syncAll()
        let name = log.fillName(fill, file.format)
        let directory = Directory(file.path.removingLastComponent())
        try directory.rename(log.name.fileName(file.format), to: name, calls: calls)
        let measured = try FinishedFile.measure(directory.path.appending(name))
        return SessionRecord.FilledFile(
            fill: fill, name: name, bytes: measured.bytes, samples: file.sampleCount, sha256: measured.sha256,
            gaps: gaps)
    }
}
