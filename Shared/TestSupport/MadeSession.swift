import Files
package import Messages
package import Recording
package import SystemPackage

/// A session on disk with all files that a recorder writes, made sample by sample.
///
/// The publisher's uptime is 1,000 s at the session's start, 2026-11-21T10:00:00Z on both clocks.
package final class MadeSession {
    /// A stream while its files are made.
    private final class Stream {
        var log: SessionRecord.Log
        var formatter: RecordFormatter
        var file: LogFile
        var buffer = ByteBuffer(capacity: 0)
        var next = 0
        var epoch = "E1"
        var finished: FinishedName?
        var counts = StreamCounts()

        init(_ log: SessionRecord.Log, _ formatter: RecordFormatter, _ file: LogFile) {
            self.log = log
            self.formatter = formatter
            self.file = file
        }
    }

    package static let startDate = try? WallTime(iso8601: "2026-11-21T10:00:00Z")
    package static let origin: Int64 = 1_000_000_000_000

    package let directory: SessionDirectory
    package private(set) var record: SessionRecord
    private var streams: [String: Stream] = [:]
    private var order: [String] = []
    private var timeline: SessionTimeline

    package init(in data: FilePath, _ name: String = "s1", task: String = "Walk", step: String = "out") throws {
        record = SessionRecord(
            session: try SessionIdentifier(name), task: task, step: step, streams: ["*"], format: .json, root: .array,
            status: .running, startDate: Self.startDate ?? .now)
        directory = try SessionDirectory.create(record.session, in: data)
        timeline = SessionTimeline(record)
    }

    package var path: FilePath { directory.directory.path }

    /// Begins a stream.
    package func add(
        _ name: String, fields: [String] = ["x", "y", "z"], types: [FieldType]? = nil, unit: String? = "g",
        rate: Double? = 100, format: LogFormat = .json
    ) throws {
        guard let stream = StreamName(name) else { return }
        let log = LogName("\(stream.device)_\(stream.stream)")
        var entry = SessionRecord.Log(
            name: log, device: stream.device, stream: stream.stream, fields: ["uptime"] + fields, types: types,
            unit: unit, rate: rate,
            epochs: [
                SessionRecord.Epoch(
                    epoch: "E1", clock: ClockReading(uptime: 1000, date: record.startDate),
                    replay: "tcp://127.0.0.1:5551")
            ],
            file: log.fileName(format), fileDate: record.startDate)
        entry.format = format == record.format ? nil : format
        let formatter = RecordFormatter(format: format, sensorType: stream.stream, fields: entry.fields, types: types)
        let new = Stream(entry, formatter, try open(log, formatter, index: 0))
        streams[name] = new
        order.append(name)
        try mark(.start, at: 0, new, describes: true)
    }

    private func open(_ log: LogName, _ formatter: RecordFormatter, index: Int) throws(RecordingError) -> LogFile {
        try LogFile(
            creating: log, in: directory.directory,
            FileBeginning(
                index: index, format: formatter.format, root: record.root, startDate: record.startDate.utcText,
                header: formatter.header))
    }

    private func stream(_ name: String) throws(RecordingError) -> Stream {
        guard let stream = streams[name] else {
            throw RecordingError(.notFound, action: "find stream \(name)", advice: "Add it.")
        }
        return stream
    }

    // MARK: Samples

    /// Writes a sample.
    /// - Parameters:
    ///   - time: seconds since the session's start.
    ///   - values: JSON values, separated by commas.
    package func sample(_ name: String, _ time: Double, _ values: String) throws {
        let stream = try stream(name)
        let uptime = (time * 1e9).rounded() / 1e9 + 1000
        let frame = Array("[[\(uptime),\(values)]]".utf8)
        _ = try frame.withUnsafeBytes { frame in
            try stream.formatter.append(
                values: 0..<frame.count, of: frame, count: 1, rows: 0..<1, timeline: timeline, origin: Self.origin,
                to: &stream.buffer)
        }
        try stream.file.append(&stream.buffer, samples: 1)
        stream.next += 1
        stream.counts.written += 1
        stream.log.firstUptime = stream.log.firstUptime ?? uptime
        stream.log.lastUptime = uptime
    }

    /// Writes samples at a rate.
    package func samples(_ name: String, from time: Double, count: Int, rate: Double = 100, _ values: (Int) -> String)
        throws
    {
        for index in 0..<count { try sample(name, time + Double(index) / rate, values(index)) }
    }

    // MARK: Absent samples

    /// Records a gap of lost samples.
    package func gap(_ name: String, count: Int, reason: Gap.Reason = .notRetained, at time: Double) throws {
        let stream = try stream(name)
        let gap = Gap(
            epoch: stream.epoch, from: stream.next, count: count, reason: reason, date: date(time),
            afterUptime: stream.log.lastUptime)
        try mark(.gap(gap), at: time, stream)
        stream.next += count
        stream.log.gaps.append(gap)
    }

    /// Pauses one stream; no samples are taken.
    package func pause(_ name: String, from: Double, to: Double) throws {
        try mark(.pause, at: from, stream(name))
        try mark(.resume, at: to, stream(name))
        record.pauses.append(SessionRecord.Pause(from: from, to: to, stream: StreamName(name)))
    }

    /// Pauses the whole session; `counts` samples of each stream are left out.
    package func pause(from: Double, to: Double, leavingOut counts: [String: Int]) throws {
        for name in order { try mark(.pause, at: from, stream(name)) }
        for name in order { try mark(.resume, at: to, stream(name)) }
        timeline.pause(at: Int64(from * 1e9))
        timeline.resume(at: Int64(to * 1e9))
        record.pauses.append(SessionRecord.Pause(from: from, to: to))
        for (name, count) in counts {
            let stream = try stream(name)
            stream.next += count
            stream.counts.paused += count
            try mark(.position, at: to, stream, isPlaced: true)
        }
    }

    /// Restarts the publisher, which begins a new epoch.
    /// - Parameters:
    ///   - unit: its unit, if it is not the first epoch's.
    ///   - rate: its rate, in the same way.
    package func beginEpoch(
        _ name: String, _ epoch: String, unit: String? = nil, rate: Double? = nil, at time: Double
    ) throws {
        let stream = try stream(name)
        stream.log.epochs[stream.log.epochs.count - 1].next = stream.next
        var new = SessionRecord.Epoch(
            epoch: epoch, clock: ClockReading(uptime: 1000, date: record.startDate), replay: "tcp://127.0.0.1:5551")
        (new.unit, new.rate) = (unit, rate)
        stream.log.epochs.append(new)
        stream.epoch = epoch
        stream.next = 0
        try mark(.position, at: time, stream, describes: unit != nil || rate != nil, isPlaced: true)
    }

    // MARK: Session

    package func move(to step: String, at time: Double) throws {
        timeline.move(to: step, at: Int64(time * 1e9))
        record.steps.append(SessionRecord.Step(date: date(time), timestamp: time, step: step))
        for name in order { try mark(.step, at: time, stream(name)) }
    }

    /// Continues a stream in a new file.
    package func rotate(_ name: String, at time: Double) throws {
        let stream = try stream(name)
        try finishFile(stream, at: time)
        stream.file = try open(stream.log.name, stream.formatter, index: stream.log.files.count)
        try mark(.step, at: time, stream, describes: true)
    }

    /// Continues a stream in a new file, with other columns.
    package func change(_ name: String, to fields: [String], types: [FieldType]? = nil, at time: Double) throws {
        let stream = try stream(name)
        stream.log.fields = ["uptime"] + fields
        stream.log.types = types
        stream.formatter = RecordFormatter(
            format: stream.formatter.format, sensorType: stream.log.stream, fields: stream.log.fields, types: types)
        try rotate(name, at: time)
    }

    /// Records by how many seconds the publisher's clock is ahead of the recorder's, at a time on the publisher's clock.
    package func compareClocks(at time: Double, ahead: Double, roundTrip: Double = 0.001) {
        record.clocks.append(
            ClockComparison(
                endpoint: "tcp://127.0.0.1:5551", date: date(time - ahead),
                clock: ClockReading(uptime: 1000 + time, date: date(time)), roundTrip: roundTrip))
    }

    /// Writes `session.json` as it is while the session runs.
    package func store() throws {
        record.logs = try order.map { name throws(RecordingError) in
            let stream = try stream(name)
            stream.log.epochs[stream.log.epochs.count - 1].next = stream.next
            stream.log.counts = stream.counts
            return stream.log
        }
        try directory.write(record)
    }

    /// Ends the session.
    package func finish(at time: Double) throws {
        for name in order {
            let stream = try stream(name)
            try mark(.stop, at: time, stream)
            try finishFile(stream, at: time)
            stream.log.file = nil
            stream.log.fileDate = nil
        }
        record.status = .finished
        record.endDate = date(time)
        try store()
        try directory.write(SessionReport(record))
        try directory.writeChecksums()
    }

    private func finishFile(_ stream: Stream, at time: Double) throws(RecordingError) {
        let name = FinishedName(
            log: stream.log.name, finishedAt: date(time), after: stream.finished, format: stream.formatter.format)
        try stream.file.seal(as: name)
        stream.finished = name
        let measured = try FinishedFile.measure(path.appending(name.description))
        stream.log.files.append(
            FinishedFile(
                name: name.description, bytes: measured.bytes, samples: stream.file.sampleCount,
                sha256: measured.sha256))
    }

    private func mark(
        _ event: Marker.Event, at time: Double, _ stream: Stream, describes: Bool = false, isPlaced: Bool = false
    ) throws(RecordingError) {
        let nanoseconds = Int64((time * 1e9).rounded())
        var marker = Marker(
            event, time: nanoseconds, date: date(time).utcText, stepPath: timeline.current.stepPath,
            description: describes ? stream.log.describing(stream.log.epochs.last) : nil)
        if describes || isPlaced { marker.position = Marker.Position(epoch: stream.epoch, next: stream.next) }
        stream.formatter.append(marker, origin: Self.origin, to: &stream.buffer)
        try stream.file.append(&stream.buffer, samples: 0)
    }

    private func date(_ time: Double) -> WallTime {
        WallTime(nanosecondsSince1970: record.startDate.nanosecondsSince1970 + Int64((time * 1e9).rounded()))
    }
}
