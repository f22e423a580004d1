import MessageBus
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
    /// How many times as long as storing a session takes it waits until it is stored again: what is stored is in the
    /// write-ahead log too, and a session of a thousand streams is large.
    private static let storePause: Int64 = 20

    let identifier: SessionIdentifier
    let directory: SessionDirectory
    private(set) var record: SessionRecord
    private(set) var timeline: SessionTimeline
    private(set) var streams: [StreamName: StreamRecording] = [:]
    /// The streams in the order in which they were met.
    private(set) var ordered: [StreamRecording] = []
    /// Nanoseconds from publication to commit, since the recorder started.
    var latencies = LatencyHistogram()
    var eventSequence = 0
    /// When it stops by itself, on `MonotonicClock`.
    let deadline: Int64?
    private let held: HeldBytes
    private let appender: LogAppender
    /// Its own frames' number in the write-ahead log.
    private let number: UInt32
    /// The position in the write-ahead log before which everything is durable in the stream files.
    private(set) var written: Int
    /// The same as far as `session.json` says so: what the log has before it is not needed any more.
    private(set) var stored: Int
    /// When it may be stored again, on `MonotonicClock`.
    private var storableAt: Int64 = 0
    private var isStoring = false
    private var isChanged = false
    /// Whether somebody is ending it.
    private var isStopping = false
    /// When everything was last made durable in the stream files, on `MonotonicClock`.
    var checkpointedAt = MonotonicClock.now
    /// Whether it was continued with what its files alone say, so that the write-ahead log does not know their places.
    var isFromFiles = false
    /// Logs whose last file has its final name and waits to be finished, or could not be opened again.
    private var closed: [SessionRecord.Log] = []
    private var logNames: LogNames
    /// How many finished files of each log were announced.
    var announced: [LogName: Int] = [:]
    /// When each publisher's clock was last asked for, on `MonotonicClock`.
    var comparedAt: [String: Int64] = [:]
    /// Which of its sensors fail.
    var watch: StreamWatch

    /// Begins a session, or continues one that was interrupted.
    /// - Parameters:
    ///   - record: what is known of it.
    ///   - recovered: what is left of an interrupted one.
    init(
        _ record: SessionRecord, recovered: RecoveredSession.Values? = nil, in directory: SessionDirectory,
        appender: LogAppender, held: HeldBytes
    ) throws {
        self.record = record
        self.directory = directory
        self.held = held
        self.appender = appender
        watch = StreamWatch(earlier: record.failures)
        // Nothing that the log has is about one that begins, or to which its files alone led.
        let position = recovered?.isFromLog == true ? record.logPosition : nil
        written = position?.written ?? appender.position
        stored = written
        identifier = record.session
        number = appender.number(record.session)
        timeline = SessionTimeline(record)
        let sinceStart = recovered == nil ? 0 : Self.time(of: .now, in: record)
        deadline = record.limits.duration.map { MonotonicClock.now + Int64($0 * 1e9) - sinceStart }
        logNames = LogNames(record.logs.map(\.name))
        guard let recovered else { return }
        for log in record.logs {
            if let part = recovered.logs[log.name], log.file != nil {
                add(try StreamRecording(log, part, in: place))
            } else {
                closed.append(log)
            }
        }
        for batch in recovered.held { takeHeld(batch) }
        isFromFiles = !recovered.isFromLog || ordered.contains { $0.log.isBegunAgain }
    }

    /// Keeps a batch again that waited for samples before it when the session was interrupted.
    private func takeHeld(_ batch: SessionRedo.HeldBatch) {
        guard let stream = ordered.first(where: { $0.log.name == batch.log }) else { return }
        let held = StreamIntake.HeldBatch(
            epoch: "", sequence: 0, count: 0, frames: [batch.body] + (batch.packed.map { [$0] } ?? []))
        // What can't be read was refused before.
        try? held.withBatch { try stream.takeAgain($0) }
    }

    var status: SessionStatus { record.status }

    /// Where the publishers of its streams answer.
    var publishers: Set<String> { ordered.reduce(into: []) { $0.formUnion($1.publishers) } }

    /// Whether samples are taken.
    var isRecording: Bool { status >= .starting && status < .processingResults }

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
        record.shard != nil && pattern == StreamName.everything || ordered.contains { $0.name.matches(pattern) }
            || closed.contains { StreamName(device: $0.device, stream: $0.stream).matches(pattern) }
    }

    /// Whether a stream's log was closed before the session was interrupted, so that nothing more belongs to it.
    func hasClosed(_ stream: StreamName) -> Bool {
        closed.contains { $0.device == stream.device && $0.stream == stream.stream }
    }

    private var place: StreamRecording.Place {
        StreamRecording.Place(
            session: record, timeline: timeline, directory: directory.directory, appender: appender, held: held)
    }

    private func add(_ stream: StreamRecording) {
        streams[stream.name] = stream
        ordered.append(stream)
    }

    /// Opens the log of a stream and marks in it what happened since the session's start.
    /// - Parameters:
    ///   - first: the first sample that belongs to the session; nil for a stream that is met during it.
    ///   - configuration: what log-manager says of a log.
    func open(
        _ description: StreamDescription, from first: Int?, configuration: (LogName) -> LogConfiguration?
    ) throws -> StreamRecording {
        let name = LogName(device: description.device, stream: description.stream, avoiding: logNames)
        let stream = try StreamRecording(
            description, from: first, log: name, configuration: configuration(name), in: place)
        logNames.insert(name)
        add(stream)
        for change in history { stream.log.mark(change.event, at: change.date, stepPath: change.stepPath) }
        return stream
    }

    /// Lets the status rise. A status that is not higher changes nothing.
    /// - Returns: whether it rose.
    func rise(to status: SessionStatus) -> Bool {
        guard record.status.rise(to: status) else { return false }
        noteChange()
        return true
    }

    /// Notes what failed.
    /// - Returns: whether that made it a failed session.
    func fail(_ reason: String) -> Bool {
        note(failures: reason)
        return rise(to: .failed)
    }

    /// Writes what is known of it into the write-ahead log.
    private func noteChange() {
        isChanged = true
        appender.append(storable(record), of: number)
    }

    /// The record as a recorder needs it that comes back: it can still ask for what is missing.
    private func storable(_ record: SessionRecord) -> SessionRecord {
        var stored = record
        if stored.status == .processingResults { stored.status = .waitingToStop }
        return stored
    }

    /// Notes what went wrong, without an end to it.
    func note(failures reasons: String...) { note(failures: reasons) }

    /// The same of several things: each note is a copy of the record.
    func note(failures reasons: [String]) {
        // A full disk, say, has each file fail with the same words.
        let known = Set(record.failures)
        let new = reasons.filter { !known.contains($0) }
        if new.isEmpty { return }
        record.failures += new
        noteChange()
    }

    /// Keeps what was answered, unless the session's last record is being stored.
    func note(results: JSONValue) {
        guard status < .processingResults else { return }
        record.results = results
        noteChange()
    }

    /// Goes on to another step: every log gets a marker.
    func move(to step: String, at date: WallTime) {
        timeline.move(to: step, at: time(of: date))
        record.steps.append(SessionRecord.Step(date: date, timestamp: seconds(of: date), step: step))
        markAll(.step, at: date)
    }

    /// Leaves out samples taken from now on.
    /// - Returns: false where it is paused already.
    func pause(at date: WallTime) -> Bool {
        guard timeline.pause(at: time(of: date)) else { return false }
        record.pauses.append(SessionRecord.Pause(from: seconds(of: date)))
        markAll(.pause, at: date)
        return true
    }

    /// Writes samples taken from now on again.
    /// - Returns: false where it is not paused.
    func resume(at date: WallTime) -> Bool {
        guard timeline.resume(at: time(of: date)) else { return false }
        record.pauses[record.pauses.count - 1].to = seconds(of: date)
        markAll(.resume, at: date)
        return true
    }

    /// Marks in every log that the recorder is back after it was cut off.
    func markRestart(at date: WallTime) {
        record.restarts.append(date)
        markAll(.resumed, at: date)
        guard timeline.current.isPaused else { return }
        // The marker may be among what was torn.
        for stream in ordered { stream.log.mark(.pause, at: date) }
    }

    /// Notes how far a publisher's clock is from ours.
    func note(_ comparison: ClockComparison) {
        record.clocks.append(comparison)
        noteChange()
    }

    // MARK: Files

    /// What is to be stored now, if anything is: with everything that is written into the write-ahead log so far, which must
    /// be durable before it is stored. Then call `finishStoring`.
    func takeStorable(at now: Int64) -> SessionRecord? {
        guard !isStoring, now >= storableAt else { return nil }
        guard isChanged || ordered.contains(where: \.isChanged) else { return nil }
        isStoring = true
        isChanged = false
        for stream in ordered { stream.isChanged = false }
        record.logs = logs
        record.logPosition = LogPosition(log: appender.log, recorded: appender.position, written: written)
        return storable(record)
    }

    /// Notes that storing is over.
    /// - Parameters:
    ///   - began: when it began, on `MonotonicClock`.
    ///   - record: what `session.json` has now; nil if it could not be stored.
    func finishStoring(_ record: SessionRecord?, began: Int64) {
        let now = MonotonicClock.now
        isStoring = false
        storableAt = now + Self.storePause * (now - began)
        stored = record?.logPosition?.written ?? stored
    }

    /// Where all of its streams' files stand once everything so far is written.
    var places: [StreamName: DurablePlace] { streams.compactMapValues { $0.log.place } }

    /// Notes that the stream files are durable up to these places.
    func note(durable places: [StreamName: DurablePlace], before position: Int) {
        for stream in ordered { stream.log.record.durable = places[stream.name] }
        written = position
        isChanged = true
        // What is written now may be stored.
        storableAt = 0
    }

    /// Adds a file that was finished.
    func add(_ file: FinishedFile, to name: LogName) {
        guard let stream = ordered.first(where: { $0.log.name == name }), stream.log.add(file) else { return }
        stream.isChanged = true
    }

    /// Whether files wait for their final names, or to be finished.
    var isWaitingForFiles: Bool { ordered.contains { $0.log.isWaitingForFiles || !$0.log.isClosed } }

    /// Lets the status be the last one.
    /// - Returns: what is to be stored then.
    func finish() -> SessionRecord {
        record.status.rise(to: .finished)
        record.logPosition = nil
        for stream in ordered { stream.log.record.durable = nil }
        record.logs = logs
        return record
    }

    /// Notes when it ended.
    func end(at date: WallTime) { record.endDate = record.endDate ?? date }

    /// Takes over what a repair found in its files.
    func replace(by repaired: SessionRecord) {
        record.status.rise(to: repaired.status)
        for failure in repaired.failures where !record.failures.contains(failure) { record.failures.append(failure) }
        closed = repaired.logs
        streams = [:]
        ordered = []
    }

    /// Forgets its numbers in the write-ahead log.
    func forget() {
        for stream in ordered { appender.forget(stream.log.number) }
        appender.forget(number)
    }

    private var logs: [SessionRecord.Log] { closed + ordered.map(\.record) }

    // MARK: What it says

    /// How it went so far.
    var report: SessionReport {
        var record = record
        record.logs = logs
        // A session.json that somebody changed may list a log twice.
        let openBytes = ordered.reduce(into: [:]) { $0[$1.log.name] = $1.log.openBytes }
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
            paused: timeline.current.isPaused, logs: summaries,
            failures: failures.isEmpty ? nil : failures)
    }

    /// What failed, with sensors that nothing is heard of now.
    private var failures: [String] { record.failures + watch.unheard }

    /// The logs as they are now.
    var summaries: [LogSummary] {
        ordered.map { stream in
            let (log, counts) = (stream.log, stream.log.record.counts)
            return LogSummary(
                name: log.name.text, file: log.openFile ?? log.record.files.last?.name ?? "", stream: stream.name,
                samples: counts.written, bytes: log.byteCount, gaps: stream.gaps.count, recovered: counts.recovered)
        }
    }

    /// Marks a change in every log.
    private func markAll(_ event: Marker.Event, at date: WallTime) {
        // First the state: a log that has the marker must not meet a session that does not know of it.
        noteChange()
        for stream in ordered {
            stream.log.timeline = timeline
            stream.log.mark(event, at: date)
        }
    }

    private static func time(of date: WallTime, in record: SessionRecord) -> Int64 {
        date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970
    }

    private func time(of date: WallTime) -> Int64 { Self.time(of: date, in: record) }

    /// Seconds from its start to a date.
    func seconds(of date: WallTime) -> Double { Double(time(of: date)) / 1e9 }

    /// The markers so far, for a log that is opened later.
    private var history: [(event: Marker.Event, date: WallTime, stepPath: String)] {
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
            let date = record.startDate.nanosecondsSince1970 + Int64((change.timestamp * 1e9).rounded())
            history.append((change.event, WallTime(nanosecondsSince1970: date), path))
        }
        return history
    }
}
