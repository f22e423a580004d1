import Files
import Messages
import SystemPackage
import Testing

@testable import Recording

/// A stream that is written into a write-ahead log as by the recorder. Its expected files and places after each step are derived
/// here from the records alone.
///
/// Samples are `[uptime, sequence, number of the epoch]`, 100 per second.
final class ScriptedStream {
    /// The stream's state.
    struct State {
        /// The finished files in order.
        var finished: [(name: String, bytes: [UInt8], samples: Int)] = []
        /// The contents of the file being written without its terminator; nil if there is none.
        var open: [UInt8]?
        var hasRecords = false
        var samples = 0
        var epochs = ["E1"]
        var nexts = [0]
        var ends: [Int?] = [nil]
        /// Epochs that the log does not fully describe yet.
        var changed: Set<Int> = [0]
        /// The index of the epoch that was met last.
        var current = 0
        var counts = StreamCounts()
        var gaps: [Gap] = []
        var firstUptime: Double?
        var lastUptime: Double?
        var isMarkedStopped = false
        /// Batches that were held, and their log positions.
        var held: [(position: Int, body: [UInt8])] = []
        var isDescribed = false

        /// The epochs and their next samples, the current epoch last.
        var positions: [Marker.Position] {
            var positions = zip(epochs, nexts).map { Marker.Position(epoch: $0, next: $1) }
            positions.append(positions.remove(at: current))
            return positions
        }
    }

    let session: SessionIdentifier
    let name: LogName
    let format: LogFormat
    let root: JSONRoot
    var state = State()
    /// Finished files that may be listed.
    var listed: [FinishedFile] = []
    var durable: DurablePlace?
    private(set) var number: UInt32
    private(set) var appender: LogAppender
    private var formatter: RecordFormatter
    private let start: WallTime
    private let timeline = SessionTimeline(task: "W, \"f\"", step: "a\nb")

    init(
        _ name: String = "phone_gyro", of session: String = "s1", _ format: LogFormat = .json,
        _ root: JSONRoot = .array,
        appender: LogAppender = LogAppender(log: "L1", position: 0)
    ) throws {
        self.session = try SessionIdentifier(session)
        self.name = LogName(name)
        self.format = format
        self.root = root
        self.appender = appender
        number = appender.number(self.session, self.name)
        formatter = RecordFormatter(format: format, sensorType: "gyro", fields: ["uptime", "x", "y"])
        start = try WallTime(iso8601: "2026-11-21T02:55:01.123456Z")
    }

    /// Continues in another appender.
    func move(to appender: LogAppender) {
        self.appender = appender
        number = appender.number(session, name)
    }

    func takeBlock() throws -> LogBlock { try #require(appender.takeBlock()) }

    var fileName: String { name.fileName(format) }
    var terminator: [UInt8] { Array((format == .json ? root.end : "").utf8) }
    var index: Int { state.finished.count }

    /// The expected contents of the stream's files in a state, by name.
    func files(_ state: State) -> [String: [UInt8]] {
        var files = Dictionary(uniqueKeysWithValues: state.finished.map { ($0.name, $0.bytes) })
        if let open = state.open { files[fileName] = open + terminator }
        return files
    }

    /// The stream's entry in `session.json`.
    var description: SessionRecord.Log {
        var log = SessionRecord.Log(
            name: name, device: "phone", stream: "gyro", fields: ["uptime", "x", "y"], unit: "rad/s", rate: 100,
            epochs: state.epochs.indices.map { index in
                SessionRecord.Epoch(
                    epoch: state.epochs[index], clock: ClockReading(uptime: 1000, date: start),
                    replay: "tcp://127.0.0.1:5551", next: state.nexts[index], end: state.ends[index])
            },
            file: state.open == nil && listed.count == state.finished.count ? nil : fileName, fileDate: start,
            files: listed)
        log.format = format
        log.gaps = state.gaps
        log.counts = state.counts
        log.firstUptime = state.firstUptime
        log.lastUptime = state.lastUptime
        log.durable = durable
        log.isMarkedStopped = state.isMarkedStopped ? true : nil
        return log
    }

    /// The durable place once everything is synced.
    var place: DurablePlace? {
        state.open.map { open in
            DurablePlace(
                file: index, bytes: open.count + terminator.count, samples: state.samples,
                epoch: state.epochs[state.current], next: state.nexts[state.current])
        }
    }

    // MARK: Steps

    func describe() {
        var description = description
        description.epochs = state.changed.sorted().map { description.epochs[$0] }
        appender.append(description, of: number)
        state.changed = []
        state.isDescribed = true
    }

    /// Notes the end of an epoch.
    func end(_ epoch: Int) {
        state.ends[epoch] = state.nexts[epoch]
        state.changed.insert(epoch)
        describe()
    }

    func begin() {
        if !state.isDescribed { describe() }
        let beginning = FileBeginning(
            index: index, format: format, root: root, startDate: "2026-11-21T02:55:01.\(100 + index)Z",
            header: formatter.header)
        appender.append(beginning, of: number)
        let opening =
            format == .json ? root == .array ? "[\n" : root.opening(startDate: beginning.startDate) : formatter.header
        state.open = Array(opening.utf8)
        state.hasRecords = false
        state.samples = 0
        mark(index == 0 ? .start : .step)
    }

    /// Adds the next samples; during a pause they are left out.
    func add(_ count: Int, isPaused: Bool = false) {
        var text = ByteBuffer(capacity: 0)
        for _ in 0..<count {
            let sequence = state.nexts[state.current]
            let uptime = 1000 + Double(sequence) / 100
            state.nexts[state.current] += 1
            if isPaused {
                state.counts.paused += 1
                continue
            }
            let row = Rows(values: [[uptime, Double(sequence), Double(state.current)]])
            _ = row.packed().withUnsafeBytes { bytes in
                formatter.append(packed: bytes, rows: 0..<1, timeline: timeline, origin: 1_000_000_000_000, to: &text)
            }
            state.counts.written += 1
            state.firstUptime = state.firstUptime ?? uptime
            state.lastUptime = uptime
            state.isMarkedStopped = false
        }
        append(text, samples: isPaused ? 0 : count)
    }

    func mark(_ event: Marker.Event) {
        var marker = Marker(event, time: 0, date: "2026-11-21T02:55:01.123Z", stepPath: "W, \"f\"/a\nb")
        switch event {
        case .start, .step, .resumed:
            marker.description = description
            marker.position = Marker.Position(epoch: state.epochs[state.current], next: state.nexts[state.current])
        case .position:
            marker.position = Marker.Position(epoch: state.epochs[state.current], next: state.nexts[state.current])
        default: break
        }
        state.isMarkedStopped = event == .stop
        var text = ByteBuffer(capacity: 0)
        formatter.append(marker, origin: 1_000_000_000_000, to: &text)
        append(text, samples: 0)
    }

    private func append(_ text: borrowing ByteBuffer, samples: Int) {
        guard let open = state.open else { return }
        let records = text.withUnsafeBytes { Array($0) }
        let separator = state.hasRecords || format != .json || records.isEmpty ? 0 : 2
        state.samples += samples
        let head = RecordsHead(
            file: index, offset: open.count, samples: state.samples, epoch: state.current,
            next: state.nexts[state.current],
            counts: state.counts, firstUptime: state.firstUptime, lastUptime: state.lastUptime,
            isMarkedStopped: state.isMarkedStopped)
        appender.append(records, head, of: number)
        state.open? += records.dropFirst(separator)
        state.hasRecords = state.hasRecords || !records.isEmpty
    }

    /// Skips samples and writes a gap for them.
    func lose(_ count: Int) {
        let gap = Gap(
            epoch: state.epochs[state.current], from: state.nexts[state.current], count: count, reason: .notRetained,
            date: start, afterUptime: state.lastUptime)
        state.gaps.append(gap)
        state.nexts[state.current] += count
        appender.append(gap, of: number)
        mark(.gap(gap))
    }

    func beginEpoch() {
        state.epochs.append("E\(state.epochs.count + 1)")
        state.nexts.append(0)
        state.ends.append(nil)
        state.changed.insert(state.epochs.count - 1)
        describe()
        state.current = state.epochs.count - 1
        mark(.position)
    }

    func hold(_ text: String) {
        appender.append(held: text, of: number)
        state.held.append((appender.position, Array(text.utf8)))
    }

    /// Gives the file its final name.
    @discardableResult
    func seal() -> FileEnd {
        let name = FinishedName(log: name, stamp: "20261121025501", count: index, format: format).description
        let bytes = (state.open ?? []) + terminator
        let end = FileEnd(index: index, name: name, bytes: bytes.count, samples: state.samples)
        appender.append(end, of: number)
        state.finished.append((name, bytes, state.samples))
        state.open = nil
        return end
    }

    func rotate() {
        seal()
        begin()
    }
}

extension StreamFile {
    /// Applies a block's frames.
    /// - Returns: the files that ended with it.
    @discardableResult
    func apply(_ block: LogBlock) throws(RecordingError) -> [SealedFile] {
        var result = Result<[SealedFile], RecordingError>.success([])
        block.forEachFrame { frame in
            do throws(RecordingError) {
                let sealed = try apply(frame)
                result = .success(try result.get() + (sealed.map { [$0] } ?? []))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }
}
