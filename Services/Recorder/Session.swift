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
    /// A finished file and its place in its log.
    typealias Finished = (log: LogName, index: Int, file: FinishedFile)

    /// How often what changes all the time is stored: counts, intervals.
    private static let storeInterval = TimeSpan.seconds(10)
    /// How many nanoseconds gaps may wait to be stored, for each gap there is: the logs tell of them too, and storing
    /// thousands takes longer than what is stored often may.
    private static let gapInterval = Int64(100_000)

    let identifier: SessionIdentifier
    let files: SessionFiles
    private(set) var record: SessionRecord
    private(set) var timeline: SessionTimeline
    private(set) var streams: [StreamName: StreamRecording] = [:]
    /// The streams in the order in which they were met.
    private(set) var order: [StreamName] = []
    /// Publication times of batches that are not on disk yet, in nanoseconds since 1970.
    private var uncommitted: [Int64] = []
    /// Nanoseconds from publication to commit, since the recorder started.
    var latencies = LatencyHistogram()
    var eventSequence = 0
    /// When it stops by itself, on `MonotonicClock`.
    let deadline: Int64?
    /// How many bytes may wait for a recovery, per stream.
    private let maximumHeldBytes: Int
    /// The markers so far, for a log that is opened later.
    private var history: [(event: Marker.Event, date: WallTime, stepPath: String)]
    private var version = 0
    private var storedAt = MonotonicClock.now
    private var isChanged = false
    private var hasNewGaps = false
    /// Logs whose last file has its final name and waits to be finished, or could not be opened again.
    private var closed: [SessionRecord.Log] = []
    /// How the logs are written that were planned.
    private var options: [StreamName: LogOptions] = [:]
    /// Finished files that nobody was told of.
    private var finished: [Finished] = []
    /// When each publisher's clock was last asked for, on `MonotonicClock`.
    var comparedAt: [String: Int64] = [:]

    /// Begins a session.
    /// - Parameter record: what was asked.
    init(_ record: SessionRecord, files: SessionFiles, maximumHeldBytes: Int) {
        self.record = record
        self.files = files
        self.maximumHeldBytes = maximumHeldBytes
        identifier = record.session
        timeline = SessionTimeline(task: record.task, step: record.step)
        history = [(.start, record.startDate, timeline.current.stepPath)]
        deadline = record.limits.duration.map { MonotonicClock.now + Int64($0 * 1e9) }
    }

    /// Goes on with a session that was cut off.
    init(_ recovered: RecoveredSession, in directory: SessionDirectory, maximumHeldBytes: Int) throws {
        files = SessionFiles(recovered, in: directory)
        self.maximumHeldBytes = maximumHeldBytes
        record = recovered.record
        identifier = record.session
        timeline = SessionTimeline(record)
        history = Self.history(of: record)
        deadline = record.limits.duration.map { duration in
            let sinceStart = Double(WallTime.now.nanosecondsSince1970 - recovered.record.startDate.nanosecondsSince1970)
            return MonotonicClock.now + Int64(duration * 1e9 - sinceStart)
        }
        for log in record.logs {
            guard let part = recovered.logs[log.name], log.file != nil else {
                closed.append(log)
                continue
            }
            let stream = try StreamRecording(
                reopening: log, part, timeline: timeline, maximumHeldBytes: maximumHeldBytes,
                settings: logSettings(LogOptions(log)))
            streams[stream.name] = stream
            order.append(stream.name)
        }
    }

    var status: SessionStatus { record.status }

    var directory: SessionDirectory { files.directory }

    /// Where the publishers of its streams answer.
    var publishers: Set<String> { order.reduce(into: []) { $0.formUnion(streams[$1]?.publishers ?? []) } }

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

    /// Whether one of the patterns asked for is this stream's, and its device this recorder's.
    func wants(_ stream: StreamName) -> Bool {
        record.shard?.owns(stream.device) ?? true && record.streams.contains { stream.matches($0) }
    }

    /// Whether a stream of a pattern was there. A part of all devices may have none.
    func hasMet(_ pattern: String) -> Bool {
        record.shard != nil && pattern == StreamName.everything || order.contains { $0.matches(pattern) }
            || closed.contains { StreamName(device: $0.device, stream: $0.stream).matches(pattern) }
    }

    /// Whether a stream's log was closed before the session was cut off, so that nothing more belongs to it.
    func hasClosed(_ stream: StreamName) -> Bool {
        closed.contains { $0.device == stream.device && $0.stream == stream.stream }
    }

    private func logSettings(_ options: LogOptions) -> StreamLog.Settings {
        StreamLog.Settings(
            directory: directory.directory, journal: files.journal, options: options,
            format: options.format ?? record.format, root: record.root, startDate: record.startDate,
            maximumFileSize: record.limits.maximumFileSize ?? options.maximumFileSize,
            maximumFileAge: (record.limits.maximumFileAge ?? options.maximumFileAge).map { Int64($0 * 1e9) })
    }

    /// Opens the log of a stream and marks in it what happened since the session's start. It must have been planned.
    /// - Parameter first: the first sample that belongs to the session; nil for a stream that is met during it.
    func open(_ description: StreamDescription, from first: Int?) throws -> StreamRecording {
        let name = description.name
        let stream = try StreamRecording(
            description, from: first,
            log: LogName(device: name.device, stream: name.stream, avoiding: logs.map(\.name)),
            stepPath: history[0].stepPath, maximumHeldBytes: maximumHeldBytes,
            settings: logSettings(options[name] ?? LogOptions(nil, for: record)))
        streams[name] = stream
        order.append(name)
        for change in history { stream.mark(change.event, at: change.date, stepPath: change.stepPath) }
        try stream.log.flush()
        isChanged = true
        return stream
    }

    /// What is to be stored before logs are opened: a recorder that is killed now and comes back must know whose the
    /// files are.
    /// - Parameter configuration: what log-manager says of a log.
    func planning(
        _ descriptions: [StreamDescription], configuration: (LogName) -> LogConfiguration?
    ) -> StoredRecord {
        var planned = logs
        for description in descriptions {
            // Two publishers may have a stream of the same name: it has one log.
            let isThere = planned.contains { $0.device == description.device && $0.stream == description.stream }
            if isThere { continue }
            let name = LogName(device: description.device, stream: description.stream, avoiding: planned.map(\.name))
            options[description.name] = LogOptions(configuration(name), for: record)
            planned.append(plan(name, of: description))
        }
        var stored = snapshot()
        stored.record.logs = planned
        return stored
    }

    /// What is known of a log before it is there.
    private func plan(_ log: LogName, of description: StreamDescription) -> SessionRecord.Log {
        let options = options[description.name] ?? LogOptions(nil, for: record)
        var planned = SessionRecord.Log(
            name: log, device: description.device, stream: description.stream, fields: description.fields,
            unit: description.unit, rate: description.rate,
            epochs: [
                SessionRecord.Epoch(
                    epoch: description.epoch, clock: description.clock, replay: description.replay,
                    from: status == .starting ? description.nextSequence : 0)
            ], file: log.fileName(options.format ?? record.format), fileDate: record.startDate)
        planned.format = options.format
        planned.maximumFileSize = options.maximumFileSize
        planned.maximumFileAge = options.maximumFileAge
        planned.earliestUptime = StreamRecording.earliest(description, startDate: record.startDate)
            .map { Double($0) / 1e9 }
        return planned
    }

    /// Lets the status be `running`, unless it is higher.
    /// - Returns: what is to be stored then.
    func run() -> StoredRecord? {
        record.status.rise(to: .running) ? snapshot() : nil
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
        note(failure: reason)
        return record.status.rise(to: .failed)
    }

    /// Notes what went wrong, without an end to it.
    func note(failure reason: String) {
        // A full disk, say, has each file fail with the same words.
        if !record.failures.contains(reason) { record.failures.append(reason) }
        isChanged = true
    }

    /// Keeps what was answered, unless the session's last record is being stored.
    func note(results: JSONValue) {
        guard status < .processingResults else { return }
        record.results = results
        isChanged = true
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

    /// Marks in every log that the recorder is back after it was cut off.
    func markRestart(at date: WallTime) throws {
        record.restarts.append(date)
        try markAll(.resumed, at: date, isRemembered: false)
        guard timeline.current.isPaused else { return }
        // The marker may be among what was torn.
        for stream in streams.values { stream.mark(.pause, at: date, stepPath: timeline.current.stepPath) }
    }

    /// Notes how far a publisher's clock is from ours.
    func note(_ comparison: ClockComparison) {
        record.clocks.append(comparison)
        isChanged = true
    }

    // MARK: Files

    /// What is to be made durable now.
    /// - Parameter isLast: with everything that the session knows.
    func work(isLast: Bool = false) throws -> GroupCommit.Work {
        var work = GroupCommit.Work(files: files)
        for name in order {
            guard let stream = streams[name] else { continue }
            if let point = try stream.log.commitPoint() { work.points.append(point) }
            work.sealed += stream.log.takeSealed()
            isChanged = isChanged || stream.hasNewEpochs
            stream.hasNewEpochs = false
        }
        let age = MonotonicClock.now - storedAt
        let gapInterval = Self.gapInterval * Int64(streams.values.reduce(0) { $0 + $1.gaps.count })
        let isDue =
            hasNewGaps && age > gapInterval
            || !work.points.isEmpty && age > max(Self.storeInterval.nanoseconds, gapInterval)
        if isLast || isChanged || !finished.isEmpty || isDue { work.record = snapshot() }
        return work
    }

    /// Notes that a batch was written.
    /// - Parameter published: when, in nanoseconds since 1970.
    func noteWritten(published: Int64) { uncommitted.append(published) }

    /// The publication times of batches that the next commit makes durable.
    func takeUncommitted() -> [Int64] {
        defer { uncommitted.removeAll() }
        return uncommitted
    }

    /// Notes that gaps were found, so that they are stored with a commit soon.
    func noteGaps() { hasNewGaps = true }

    /// Adds files that were finished.
    func add(_ files: [(log: LogName, file: FinishedFile)]) {
        for (name, file) in files {
            let log = order.lazy.compactMap { self.streams[$0]?.log }.first { $0.name == name }
            if let log, log.add(file) { noteFinished(file, at: log.files.count - 1, of: name) }
        }
    }

    /// Notes a finished file that is listed, and that nobody was told of.
    func noteFinished(_ file: FinishedFile, at index: Int, of log: LogName) { finished.append((log, index, file)) }

    /// The files to tell of once what the session knows now is stored.
    func takeFinished() -> [Finished] {
        defer { finished = [] }
        return finished
    }

    /// Takes files back because that could not be stored.
    func keep(_ files: [Finished]) { finished = files + finished }

    /// Has the files that could not be finished tried again with the next commit.
    func keepSealed() {
        for stream in streams.values { stream.log.keepSealed() }
    }

    /// Whether files wait for their final names, or their finishing.
    var isWaitingForFiles: Bool { streams.values.contains { $0.log.isWaitingForFiles || !$0.log.isClosed } }

    /// Lets the status be the last one, and stores it and the report: who reads that a session is over finds its report.
    /// - Returns: whether it rose.
    func finish(_ status: SessionStatus, at date: WallTime) throws -> Bool {
        let rose = record.status.rise(to: status)
        record.endDate = record.endDate ?? date
        try directory.write(report)
        try save()
        // Without them, the next start of the recorder tries to finish what could not be.
        if !isWaitingForFiles { try directory.writeChecksums(known: record.logs.flatMap(\.files)) }
        return rose
    }

    /// Stores the state, the logs' included.
    func save() throws(RecordingError) {
        try files.store.write(snapshot())
    }

    private func snapshot() -> StoredRecord {
        record.logs = logs
        isChanged = false
        hasNewGaps = false
        storedAt = MonotonicClock.now
        version += 1
        var stored = record
        // A recorder that comes back can still ask for what is missing.
        if stored.status == .processingResults { stored.status = .waitingToStop }
        return StoredRecord(record: stored, version: version)
    }

    private var logs: [SessionRecord.Log] { closed + order.compactMap { streams[$0]?.record } }

    // MARK: What it says

    /// How it went so far.
    var report: SessionReport {
        var record = record
        record.logs = logs
        var openBytes: [LogName: Int] = [:]
        for stream in streams.values { openBytes[stream.log.name] = stream.log.openBytes }
        return SessionReport(
            record, openBytes: openBytes,
            commitLatency: SessionReport.Latency(
                count: latencies.count, median: Double(latencies.median) / 1e9,
                p99: Double(latencies.percentile99) / 1e9, maximum: Double(latencies.maximum) / 1e9))
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
                name: stream.log.name.text, file: stream.log.openFile ?? stream.log.files.last?.name ?? "",
                stream: stream.name, samples: stream.log.counts.written, bytes: stream.log.byteCount,
                gaps: stream.gaps.count, recovered: stream.log.counts.recovered)
        }
    }

    /// Marks a change in every log, and stores the state.
    private func markAll(_ event: Marker.Event, at date: WallTime, isRemembered: Bool = true) throws {
        if isRemembered { history.append((event, date, timeline.current.stepPath)) }
        // First the state: a log that has the marker must not meet a session that does not know of it.
        try save()
        for name in order {
            streams[name]?.mark(event, at: date, stepPath: timeline.current.stepPath)
            try streams[name]?.log.flush()
        }
    }

    private func time(of date: WallTime) -> Int64 {
        date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970
    }

    private func seconds(of date: WallTime) -> Double { Double(time(of: date)) / 1e9 }

    /// The markers that a session's record tells of, in order.
    private static func history(
        of record: SessionRecord
    ) -> [(event: Marker.Event, date: WallTime, stepPath: String)] {
        var changes: [(event: Marker.Event, timestamp: Double, step: String?)] = []
        changes += record.steps.map { (.step, $0.timestamp, $0.step) }
        for pause in record.pauses {
            changes.append((.pause, pause.from, nil))
            if let end = pause.to { changes.append((.resume, end, nil)) }
        }
        var path = SessionTimeline.path(task: record.task, step: record.step)
        var history: [(event: Marker.Event, date: WallTime, stepPath: String)] = [(.start, record.startDate, path)]
        for change in changes.sorted(by: { $0.timestamp < $1.timestamp }) {
            if let step = change.step { path = SessionTimeline.path(task: record.task, step: step) }
            let date = WallTime(
                nanosecondsSince1970: record.startDate.nanosecondsSince1970 + Int64((change.timestamp * 1e9).rounded()))
            history.append((change.event, date, path))
        }
        return history
    }
}
