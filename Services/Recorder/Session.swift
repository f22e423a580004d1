import Messages
import Recording
import ServiceKit
import SystemPackage
import ZeroMQ

/// One recording while it goes on: what was asked, its streams, its files.
///
/// Confined to the recording engine's thread. What it decides itself is how markers, files and the report belong
/// together; what arrives and when is the engine's.
final class Session {
    let identifier: SessionIdentifier
    let directory: SessionDirectory
    let commits: CommitLog
    private(set) var record: SessionRecord
    private(set) var timeline: SessionTimeline
    private(set) var streams: [StreamName: StreamRecording] = [:]
    /// The streams in the order in which they were met.
    private(set) var order: [StreamName] = []
    /// What went wrong, besides lost samples.
    var failures: [String] = []
    /// Publication times of batches that are not on disk yet, in nanoseconds since 1970.
    var uncommitted: [Int64] = []
    /// Nanoseconds from publication to commit.
    var latencies = LatencyHistogram()
    var eventSequence = 0
    /// When it stops by itself, on `MonotonicClock`.
    let deadline: Int64?
    private let maximumHeldBytes: Int
    /// The markers so far, for a log that is opened later.
    private var history: [(event: Marker.Event, date: WallTime, stepPath: String)]

    /// Makes the session's directory and opens its journal.
    init(
        _ identifier: SessionIdentifier, request: RecordingStart, format: LogFormat, root: JSONRoot,
        startDate: WallTime,
        data: FilePath, commitThread: SocketThread, maximumHeldBytes: Int
    ) throws {
        self.identifier = identifier
        self.maximumHeldBytes = maximumHeldBytes
        directory = try SessionDirectory.create(identifier, in: data)
        timeline = SessionTimeline(task: request.task ?? "", step: request.step ?? "")
        record = SessionRecord(
            session: identifier, task: request.task ?? "", step: request.step ?? "", streams: request.streams,
            format: format, root: root, status: .starting, startDate: startDate,
            limits: SessionRecord.Limits(duration: request.duration))
        history = [(.start, startDate, timeline.current.stepPath)]
        deadline = request.duration.map { MonotonicClock.now + Int64($0 * 1e9) }
        commits = CommitLog(journal: try Journal(creatingIn: directory.directory), thread: commitThread)
        try directory.write(record)
    }

    var status: SessionStatus { record.status }

    /// Whether samples are taken.
    var isRecording: Bool { status >= .starting && status < .processingResults }

    /// Whether somebody is ending it.
    private var isStopping = false

    /// Claims the ending of the session.
    /// - Returns: false where somebody else is at it.
    func beginStopping() -> Bool {
        defer { isStopping = true }
        return !isStopping
    }

    /// Whether one of the patterns asked for is this stream's.
    func wants(_ stream: StreamName) -> Bool {
        record.streams.contains { stream.matches($0) }
    }

    /// Opens the log of a stream and marks in it what happened since the session's start.
    func open(_ description: StreamDescription) throws -> StreamRecording {
        let name = description.name
        let taken = order.compactMap { streams[$0]?.entry.name }
        let stream = try StreamRecording(
            description, log: LogName(device: name.device, stream: name.stream, avoiding: taken),
            settings: StreamRecording.Settings(
                directory: directory.directory, format: record.format, root: record.root, startDate: record.startDate,
                maximumHeldBytes: maximumHeldBytes))
        streams[name] = stream
        order.append(name)
        for change in history { stream.mark(change.event, at: change.date, stepPath: change.stepPath) }
        try stream.flush()
        return stream
    }

    /// Lets the status rise, and stores it. A status that is not higher changes nothing.
    /// - Returns: whether it rose.
    func rise(to status: SessionStatus) throws -> Bool {
        guard record.status.rise(to: status) else { return false }
        try save()
        return true
    }

    /// Notes what failed.
    /// - Returns: whether that made it a failed session.
    func fail(_ reason: String) -> Bool {
        // A full disk, say, has each file fail with the same words.
        if !failures.contains(reason) { failures.append(reason) }
        return record.status.rise(to: .failed)
    }

    /// Goes on to another step: every log gets a marker.
    func move(to step: String, at date: WallTime) throws {
        timeline.move(to: step, at: time(of: date))
        record.steps.append(SessionRecord.Step(date: date, timestamp: seconds(of: date), step: step))
        try markAll(.step, at: date)
    }

    /// Leaves out samples taken from now on.
    /// - Returns: false where it is paused already.
    func pause(at date: WallTime) throws -> Bool {
        guard timeline.pause(at: time(of: date)) else { return false }
        record.pauses.append(SessionRecord.Pause(from: seconds(of: date)))
        try markAll(.pause, at: date)
        return true
    }

    /// Writes samples taken from now on again.
    /// - Returns: false where it is not paused.
    func resume(at date: WallTime) throws -> Bool {
        guard timeline.resume(at: time(of: date)) else { return false }
        record.pauses[record.pauses.count - 1].to = seconds(of: date)
        try markAll(.resume, at: date)
        return true
    }

    /// Marks the end in a stream's log and finishes its file.
    func finishFile(of stream: StreamRecording, at date: WallTime) throws {
        guard stream.entry.file != nil else { return }
        stream.mark(.stop, at: date, stepPath: timeline.current.stepPath)
        try stream.finishFile(at: date)
    }

    /// Lets the status be the last one, and stores it and the report: who reads that a session is over finds its report.
    /// - Returns: whether it rose.
    func finish(_ status: SessionStatus, at date: WallTime) throws -> Bool {
        let rose = record.status.rise(to: status)
        record.endDate = date
        try directory.write(report)
        try save()
        return rose
    }

    /// Stores the state, the logs' included.
    func save() throws {
        record.logs = order.compactMap { streams[$0]?.entry }
        try directory.write(record)
    }

    /// How it went so far.
    var report: SessionReport {
        SessionReport(
            session: identifier.text, task: record.task.isEmpty ? nil : record.task, status: status.name,
            startDate: record.startDate, endDate: record.endDate ?? .now,
            streams: order.compactMap { streams[$0]?.report },
            commitLatency: SessionReport.Latency(
                count: latencies.count, median: Double(latencies.median) / 1e9,
                p99: Double(latencies.percentile99) / 1e9,
                maximum: Double(latencies.maximum) / 1e9),
            failures: failures)
    }

    /// How it goes.
    var state: RecordingState {
        RecordingState(
            session: identifier.text, status: status.name, step: timeline.current.stepPath,
            paused: timeline.current.isPaused, logs: summaries)
    }

    /// The logs as they are now.
    var summaries: [LogSummary] {
        order.compactMap { streams[$0] }.map { stream in
            LogSummary(
                name: stream.entry.name.text, file: stream.entry.file ?? stream.entry.files.last?.name ?? "",
                stream: stream.name, samples: stream.written, bytes: stream.byteCount, gaps: stream.gaps.count,
                recovered: stream.recovered)
        }
    }

    /// Marks a change in every log, and stores the state.
    private func markAll(_ event: Marker.Event, at date: WallTime) throws {
        history.append((event, date, timeline.current.stepPath))
        for name in order {
            streams[name]?.mark(event, at: date, stepPath: timeline.current.stepPath)
            try streams[name]?.flush()
        }
        try save()
    }

    private func time(of date: WallTime) -> Int64 {
        date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970
    }

    private func seconds(of date: WallTime) -> Double { Double(time(of: date)) / 1e9 }
}

extension StreamRecording {
    /// This stream's part of the report.
    var report: SessionReport.Stream {
        let span = zip(firstUptime, lastUptime).map { $1 - $0 } ?? 0
        return SessionReport.Stream(
            stream: name, log: entry.name.text, files: entry.files.map(\.name) + (entry.file.map { [$0] } ?? []),
            bytes: byteCount, expected: received.addingClamped(lost), received: received, recovered: recovered,
            duplicates: duplicates, lost: lost, paused: paused, gaps: gaps, isEndKnown: isEndKnown,
            nominalRate: description.rate, actualRate: span > 0 ? Double(written - 1) / span : nil,
            firstUptime: firstUptime, lastUptime: lastUptime)
    }
}

private func zip<First, Second>(_ first: First?, _ second: Second?) -> (First, Second)? {
    if let first, let second { (first, second) } else { nil }
}
