import Files
import Foundation
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

/// A session of one stream that has only its files: as the recorder of 0.6 left it, with a journal, or as a copy without the
/// write-ahead log, with the durable place in `session.json`. Also keeps the state that a recovery must find after each record.
///
/// Samples are `[uptime, sequence, number of the epoch]`, 100 per second.
final class RecordedLog {
    /// The place where the durable position of the log is stored.
    enum Memory: CaseIterable {
        case journal
        case record
    }

    /// The state of the log after a record.
    struct State {
        /// The record's end in its file.
        var end: Int
        var samplesInFile: Int
        var positions: [Marker.Position]
        var written: Int
        var paused: Int
        var gaps: [Gap]
        /// Whether the record describes the stream: in a table it may be longer, unless another record follows.
        var describes: Bool
        var isStop: Bool
    }

    let format: LogFormat
    let root: JSONRoot
    /// The data directory.
    let data: FilePath
    let directory: SessionDirectory
    private(set) var record: SessionRecord
    /// The states after the records of the file being written.
    private(set) var states: [State] = []
    private let memory: Memory

    private let name = LogName("phone_gyro")
    private let start: WallTime
    private var file: LogFile
    private var formatter: RecordFormatter
    private var timeline = SessionTimeline(task: "W, \"f\"", step: "a\nb")
    private var buffer = ByteBuffer(capacity: 0)
    private var index = 0
    private var positions = [Marker.Position(epoch: "E1", next: 0)]
    private var counts = StreamCounts()
    private var gaps: [Gap] = []
    private var logged: Marker.Position?
    private var lastUptime: Double?

    init(in data: FilePath, _ format: LogFormat, _ root: JSONRoot, _ memory: Memory = .journal) throws {
        self.memory = memory
        self.format = format
        self.root = root
        self.data = data
        start = try WallTime(iso8601: "2026-11-21T02:55:01.123456Z")
        record = SessionRecord(
            session: try SessionIdentifier("s1"), task: "W, \"f\"", step: "a\nb",
            streams: ["phone/gyro"], format: format, root: root, status: .running, startDate: start)
        directory = try SessionDirectory.create(record.session, in: data)
        if memory == .journal { try write([], to: directory.directory.path.appending(JournalEntry.fileName)) }
        formatter = RecordFormatter(format: format, sensorType: "gyro", fields: ["uptime", "x", "y"])
        file = try Self.create(name, in: directory.directory, format, root, formatter)
        record.logs = [
            SessionRecord.Log(
                name: name, device: "phone", stream: "gyro", fields: ["uptime", "x", "y"], unit: "rad/s", rate: 100,
                epochs: [Self.epoch("E1", at: start)], file: name.fileName(format), fileDate: start)
        ]
        try save()
        mark(.start, describes: true)
        try flush()
    }

    private static func create(
        _ name: LogName, in directory: Directory, _ format: LogFormat, _ root: JSONRoot, _ formatter: RecordFormatter
    ) throws -> LogFile {
        try LogFile(
            creating: name, in: directory, format: format, root: root, startDate: "2026-11-21T02:55:01.123Z",
            header: formatter.header)
    }

    private static func epoch(_ name: String, at date: WallTime) -> SessionRecord.Epoch {
        SessionRecord.Epoch(
            epoch: name, clock: ClockReading(uptime: 1000, date: date), replay: "tcp://127.0.0.1:5551")
    }

    var log: LogName { name }
    var path: FilePath { file.path }
    var fileName: String { name.fileName(format) }

    func path(of file: String) -> FilePath { directory.directory.path.appending(file) }

    var terminator: Int { format == .json ? root.end.utf8.count : 0 }
    private var position: Marker.Position { positions[positions.count - 1] }

    /// Writes consecutive samples.
    func samples(_ count: Int) throws {
        skip()
        for _ in 0..<count {
            if logged != position { try line(.position, position, bytes: file.length(adding: buffer.count)) }
            let sequence = position.next
            let uptime = 1000 + Double(sequence) / 100
            let row = Rows(values: [[uptime, Double(sequence), Double(positions.count)]])
            _ = row.packed().withUnsafeBytes { bytes in
                formatter.append(packed: bytes, rows: 0..<1, timeline: timeline, origin: 1_000_000_000_000, to: &buffer)
            }
            positions[positions.count - 1].next += 1
            logged = position
            counts.written += 1
            lastUptime = uptime
            try flush(samples: 1)
        }
    }

    /// Leaves samples out, as during a pause.
    func leaveOut(_ count: Int) throws {
        mark(.pause)
        try flush()
        mark(.resume)
        try flush()
        skipped += count
        logged = nil
        record.pauses.append(SessionRecord.Pause(from: 1, to: 2))
        try save()
    }

    /// The number of samples left out since the last write; neither the log nor its journal shows them yet.
    private var skipped = 0

    private func skip() {
        positions[positions.count - 1].next += skipped
        counts.paused += skipped
        skipped = 0
    }

    /// Gives samples up. A count of 0 means an unknown number.
    func gap(_ count: Int, isStored: Bool = true) throws {
        skip()
        let gap = Gap(
            epoch: position.epoch, from: position.next, count: count, reason: .notRetained, date: start,
            afterUptime: lastUptime)
        gaps.append(gap)
        mark(.gap(gap))
        positions[positions.count - 1].next += count
        if logged != nil, count > 0 { logged = position }
        try flush()
        record.logs[0].gaps = isStored ? gaps : record.logs[0].gaps
        try save()
    }

    /// Begins another epoch, as after a publisher's restart.
    func beginEpoch(_ epoch: String) throws {
        skip()
        let ended = position
        positions.append(Marker.Position(epoch: epoch, next: 0))
        record.logs[0].epochs.append(Self.epoch(epoch, at: start))
        try save()
        try line(.position, ended, bytes: file.length(adding: 0))
        try line(.position, position, bytes: file.length(adding: 0))
        logged = position
        guard memory == .record else { return }
        mark(.position, isPlaced: true)
        try flush()
    }

    func move(to step: String) throws {
        mark(.step)
        try flush()
    }

    func stop() throws {
        mark(.stop)
        try flush()
    }

    func commit() throws {
        skip()
        try file.handle.sync()
        try line(.commit, position, bytes: file.byteCount)
        guard memory == .record else { return }
        record.logs[0].durable = DurablePlace(
            file: segment, bytes: file.byteCount, samples: file.sampleCount, epoch: position.epoch, next: position.next)
        record.logs[0].counts = counts
        for (index, position) in positions.enumerated() { record.logs[0].epochs[index].next = position.next }
        record.logPosition = LogPosition(log: "elsewhere", recorded: 0, written: 0)
        try save()
    }

    /// Gives the file its final name.
    @discardableResult
    func seal() throws -> SealedFile {
        try line(.position, position, bytes: 0, samples: 0, segment: segment + 1)
        let names = try directory.directory.names() + record.logs[0].files.map(\.name)
        let last = names.compactMap { FinishedName($0, of: name) }.max()
        return try file.seal(at: start, after: last)
    }

    /// Continues in a new file.
    func rotate(isListed: Bool) throws {
        skip()
        let sealed = try seal()
        unlisted += isListed ? 0 : 1
        file = try Self.create(name, in: directory.directory, format, root, formatter)
        states = []
        logged = position
        mark(.step, describes: true)
        try flush()
        if isListed {
            record.logs[0].files.append(try sealed.complete(hash: nil))
            try save()
        }
    }

    /// Resumes the recovered session.
    /// - Parameter from: a sample number to use in place of the recovered one.
    func resume(_ recovered: RecoveredSession, from: Int? = nil) throws {
        let log = try #require(recovered.logs[name])
        record = recovered.record
        positions = log.positions
        if let from { positions[positions.count - 1].next = from }
        counts = record.logs[0].counts
        gaps = record.logs[0].gaps
        lastUptime = record.logs[0].lastUptime
        unlisted = 0
        skipped = 0
        logged = nil
        states = []
        if let old = log.file {
            file = try LogFile(
                reopening: name, in: directory.directory, format: format, root: root, length: old.bytes,
                samples: old.samples, hasRecords: true)
        } else {
            file = try Self.create(name, in: directory.directory, format, root, formatter)
            mark(.step, describes: true)
            try flush()
        }
        try save()
        mark(.resumed, describes: true)
        try flush()
    }

    func finish() throws {
        try stop()
        try commit()
        record.logs[0].files.append(try seal().complete(hash: nil))
        record.logs[0].file = nil
        record.logs[0].counts = counts
        record.logs[0].firstUptime = 1000
        record.logs[0].lastUptime = lastUptime
        for index in positions.indices { record.logs[0].epochs[index].next = positions[index].next }
        record.logs[0].isEndKnown = true
        record.logs[0].isMarkedStopped = true
        record.status.advance(to: .finished)
        record.endDate = WallTime(nanosecondsSince1970: start.nanosecondsSince1970 + 20_000_000_000)
        try directory.write(SessionReport(record))
        try save()
        try directory.writeChecksums()
    }

    private var unlisted = 0
    private var segment: Int { record.logs[0].files.count + unlisted }

    func save() throws { try directory.write(record) }

    private func mark(_ event: Marker.Event, describes: Bool = false, isPlaced: Bool = false) {
        var marker = Marker(
            event, time: 0, date: "2026-11-21T02:55:01.123Z", stepPath: "W, \"f\"/a\nb")
        if describes {
            marker.description = record.logs[0]
        }
        if describes || isPlaced { marker.position = position }
        isDescribing = describes
        isStop = event == .stop
        formatter.append(marker, origin: 1_000_000_000_000, to: &buffer)
    }

    private var isDescribing = false
    private var isStop = false

    private func flush(samples: Int = 0) throws {
        try file.append(&buffer, samples: samples)
        states.append(
            State(
                end: file.byteCount - terminator, samplesInFile: file.sampleCount, positions: positions,
                written: counts.written, paused: counts.paused, gaps: gaps, describes: isDescribing, isStop: isStop))
        isDescribing = false
        isStop = false
    }

    private func line(
        _ kind: JournalEntry.Kind, _ position: Marker.Position, bytes: Int, samples: Int? = nil,
        segment: Int? = nil
    ) throws {
        let entry = JournalEntry(
            kind: kind, index: index, log: name, segment: segment ?? self.segment, bytes: bytes,
            samples: samples ?? file.sampleCount, epoch: position.epoch, next: position.next, counts: counts,
            sealedBytes: bytes == 0 ? file.byteCount : nil, date: start)
        if memory == .journal { try append(entry) }
        index += 1
        // The record is stored with a commit, not with each jump.
        guard memory == .journal || kind == .commit else { return }
        if segment == nil, let last = states.indices.last, states[last].end == bytes - terminator {
            states[last].positions = positions
            states[last].paused = counts.paused
        }
    }
}

extension RecordedLog {
    /// Adds a line to the journal, in the format of 0.6.
    func append(_ entry: JournalEntry) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path(of: JournalEntry.fileName).string))
        try file.seekToEnd()
        try file.write(contentsOf: StoredJSON.line(entry) + [UInt8(ascii: "\n")])
        try file.close()
    }
}

/// The formats of a log, with the roots of JSON.
let logKinds: [(format: LogFormat, root: JSONRoot)] = [
    (.json, .array), (.json, .dictionary), (.csv, .array), (.tsv, .array), (.logfmt, .array),
]

/// Lends a new session in a data directory of its own.
/// - Parameter kind: the index of the log's format in `logKinds`.
func withRecordedLog(
    _ kind: Int, _ memory: RecordedLog.Memory = .journal, _ body: (RecordedLog) throws -> Void
) throws {
    let (format, root) = logKinds[kind]
    try withTemporaryDirectory { data in try body(RecordedLog(in: data.path, format, root, memory)) }
}

func bytes(of path: FilePath) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path.string)))
}

/// Replaces what is in a file.
func write(_ bytes: some Sequence<UInt8>, to path: FilePath) throws {
    try Data(bytes).write(to: URL(filePath: path.string))
}

/// The whole records of a log's file.
func records(of path: FilePath, _ format: LogFormat, _ root: JSONRoot) throws -> [LogRecord] {
    var scanner = try LogScanner(path, format: format, root: root)
    var records: [LogRecord] = []
    while try scanner.next() != nil { records.append(scanner.record) }
    return records
}

extension JSONRoot {
    /// The terminator, spelled out again as an independent check.
    var end: String { self == .array ? "\n]" : "\n]\n}" }
}
