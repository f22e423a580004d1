package import MessageBus
package import Messages
package import Recording
package import ServiceKit

/// One recording in progress: the request for it, its streams and its files.
///
/// Confined to its recorder's thread. A session decides how markers, files and the report belong together; `Recordings` decides
/// what it receives, and when.
package final class Session {
    /// After a store, a session waits this many times as long as the store took: its changes are in the write-ahead log too, and
    /// the record of a session of a thousand streams is large.
    private static let storeFactor: Int64 = 20
    /// Nanoseconds of that pause, at most: a disk that was slow once must not leave `session.json` outdated.
    private static let longestStorePause: Int64 = 30_000_000_000
    /// Most streams that an error names.
    private static let namedStreams = 20

    package let identifier: SessionIdentifier
    package let directory: SessionDirectory
    package private(set) var record: SessionRecord
    package private(set) var timeline: SessionTimeline
    package private(set) var streams: [StreamName: StreamRecording] = [:]
    private let patterns: Set<String>
    private var streamsByLog: [LogName: StreamRecording] = [:]
    /// In the order in which the session met them.
    package private(set) var ordered: [StreamRecording] = []
    /// When the batches that no commit has made durable yet were published, in nanoseconds since 1970.
    package var published: [Int64] = []
    /// Times from publication to commit, since the recorder started.
    package var latencies = LatencyHistogram()
    package var eventSequence = 0
    /// When the session stops by itself, as `Moment.elapsed`: its duration includes sleep of the machine.
    package private(set) var deadline: Int64?
    package let held: HeldBytes
    package let appender: LogAppender
    /// The number of the session's own frames in the write-ahead log.
    private let number: UInt32
    /// The position in the write-ahead log before which everything is durable in the stream files.
    package private(set) var written: Int
    /// The same position as stored in `session.json`: the session does not need the log before it any more.
    package private(set) var stored: Int
    /// Nanoseconds for which the session must not be stored again, derived from how long the last store took.
    package private(set) var storePause: Int64 = 0
    /// When the session may be stored again, on the monotonic clock.
    private var storableAt: Int64 = 0
    private var isChanged = false
    /// The number of annotations in the write-ahead log or `session.json`.
    private var notedAnnotations: Int
    /// The number of clock comparisons in the write-ahead log or `session.json`.
    private var notedClocks: Int
    package let clock: SessionClock
    /// Until when the session waits for results after its duration has passed, as `Moment.elapsed`.
    package private(set) var resultsDeadline: Int64?
    /// Whether the session's last record is being stored.
    private var isFinished = false
    /// Logs whose file is being finished on request.
    private var awaitedLogs: Set<LogName> = []
    /// When everything was last made durable in the stream files, on the monotonic clock.
    package var checkpointedAt: Int64
    /// Whether the session was resumed from its files alone, so that the write-ahead log lacks their places.
    package var isFromFiles = false
    /// Logs whose last file has its final name and waits to be finished, or could not be opened again.
    private var closed: [SessionRecord.Log] = []
    private var logNames: Set<String>
    /// How many finished files of each log were announced.
    package var announced: [LogName: Int] = [:]
    /// When each publisher's clock was last asked for, on the monotonic clock.
    package var comparedAt: [String: Int64] = [:]
    package var watch: StreamWatch

    /// - Parameter recovered: the remains of an interrupted session; nil to begin a session.
    package init(
        _ record: SessionRecord, recovered: RecoveredSession? = nil, in directory: SessionDirectory,
        appender: LogAppender, held: HeldBytes, at now: Moment
    ) throws {
        self.record = record
        patterns = Set(record.streams)
        self.directory = directory
        self.held = held
        self.appender = appender
        watch = StreamWatch(earlier: record.failures)
        // The log has nothing of a new session, or of one that was recovered from its files alone.
        let position = recovered?.isFromLog == true ? record.logPosition : nil
        let place = position?.written ?? appender.position
        written = place
        // The `session.json` of a new session was written earlier: the log may be longer by now.
        stored = (recovered == nil ? record.logPosition?.written : nil) ?? place
        checkpointedAt = CheckpointPace.start(at: now.monotonic, isResumed: recovered != nil)
        identifier = record.session
        number = appender.number(record.session)
        timeline = SessionTimeline(record)
        notedAnnotations = record.annotations?.count ?? 0
        notedClocks = record.clocks.count
        let clock = recovered == nil ? SessionClock(at: now) : SessionClock(resuming: record, at: now)
        self.clock = clock
        let before = Int64(nanosecondsIn: record.limits.before ?? 0)
        let age = recovered == nil ? 0 : clock.date(at: now).distance(from: record.startDate) - before
        deadline = record.limits.duration.map { now.elapsed.addingClamped(Int64(nanosecondsIn: $0)) - age }
        resultsDeadline = record.resultsUntil.map {
            now.elapsed.addingClamped($0.distance(from: clock.date(at: now)))
        }
        logNames = Set(record.logs.map(\.name.folded))
        guard let recovered else { return }
        for log in record.logs {
            if let part = recovered.logs[log.name], log.file != nil {
                add(try StreamRecording(log, part, of: self, at: now))
            } else {
                closed.append(log)
            }
        }
        for batch in recovered.held { streamsByLog[batch.log]?.takeAgain(batch, at: now) }
        isFromFiles = !recovered.isFromLog || ordered.contains { $0.log.isBegunAgain }
    }

    package var status: SessionStatus { record.status }

    /// The replay addresses of its streams' publishers.
    package var publishers: Set<String> { Set(ordered.flatMap { $0.log.epochs.map(\.record.replay) }) }

    package var isRecording: Bool { status.isRecording }

    package func wants(_ stream: StreamName) -> Bool {
        record.shard?.owns(stream.device) ?? true && stream.matches(anyOf: patterns)
    }

    /// Whether the session met a stream of a pattern. With a shard, `*` need not match any.
    package func hasMet(_ pattern: String) -> Bool {
        record.shard != nil && pattern == StreamName.everything || ordered.contains { $0.name.matches(pattern) }
            || closed.contains { StreamName(device: $0.device, stream: $0.stream).matches(pattern) }
    }

    /// Whether a stream's log was closed before the session was interrupted, so that no more samples belong to the session.
    package func hasClosed(_ stream: StreamName) -> Bool {
        closed.contains { $0.device == stream.device && $0.stream == stream.stream }
    }

    /// Whether a log has the marker with which its session's end begins.
    var hasMarkedStop: Bool { logs.contains { $0.isMarkedStopped == true } }

    private func add(_ stream: StreamRecording) {
        streams[stream.name] = stream
        streamsByLog[stream.log.name] = stream
        ordered.append(stream)
    }

    /// Opens the log of a stream, and marks in it the changes since the session's start.
    /// - Parameters:
    ///   - first: the first sample that belongs to the session; nil for a stream that is met during it.
    ///   - formers: the runs of the stream's publisher before the described one.
    ///   - configuration: log-manager's configuration of a log.
    package func open(
        _ description: StreamDescription, from first: Int?, after formers: [FormerRun] = [], at now: Moment,
        configuration: (LogName) -> LogConfiguration?
    ) throws -> StreamRecording {
        let name = LogName(device: description.device, stream: description.stream, avoiding: logNames)
        let stream = try StreamRecording(
            description, from: first, after: formers, log: name, configuration: configuration(name), of: self, at: now)
        logNames.insert(name.folded)
        add(stream)
        for change in history(of: stream.name) {
            stream.log.mark(change.event, at: change.date, stepPath: change.stepPath)
        }
        return stream
    }

    /// Raises the status; a status that is not higher changes nothing.
    /// - Returns: whether the status rose.
    package func advance(to status: SessionStatus) -> Bool {
        guard record.status.advance(to: status) else { return false }
        noteChange()
        return true
    }

    /// - Returns: whether this made the session fail.
    package func fail(_ reason: String) -> Bool {
        note(failures: [reason])
        return advance(to: .failed)
    }

    /// Writes the session's record into the write-ahead log.
    private func noteChange() {
        isChanged = true
        var change = storable
        if let all = record.annotations {
            change.annotations = all.count > notedAnnotations ? Array(all[notedAnnotations...]) : nil
            notedAnnotations = all.count
        }
        change.clocks = Array(record.clocks[notedClocks...])
        notedClocks = record.clocks.count
        appender.append(change, of: number)
    }

    /// Writes the whole record into the write-ahead log again, which did not take it before.
    func noteAgain() { appender.append(storable, of: number) }

    /// The record as the next recorder needs it: a session that waits to stop, so that missing samples can still be requested.
    private var storable: SessionRecord {
        var stored = record
        if stored.status == .processingResults { stored.status = .waitingToStop }
        return stored
    }

    /// Notes failures that do not end the session. All at once: each note copies the record.
    package func note(failures reasons: [String]) {
        if record.note(failures: reasons) { noteChange() }
    }

    /// Whether results and files can still be added: not once the session's last record is being stored.
    package var takesResults: Bool { !isFinished && !status.isOver }

    /// Keeps results, in place of earlier ones.
    package func note(results: JSONValue) {
        guard takesResults else { return }
        record.results = results
        noteChange()
    }

    /// Waits a while for results, because the session's duration has passed.
    package func awaitResults(at now: Moment) {
        guard let within = record.limits.resultsWithin.map({ Int64(nanosecondsIn: $0) }) else { return }
        resultsDeadline = now.elapsed.addingClamped(within)
        record.resultsUntil = clock.date(at: now).adding(within)
        noteChange()
    }

    /// Stops waiting for results.
    package func endResults() {
        resultsDeadline = nil
        guard takesResults, record.resultsUntil != nil else { return }
        record.resultsUntil = nil
        noteChange()
    }

    /// Postpones the session's end to a date, if it would end earlier.
    /// - Returns: whether this changes the end.
    package func extend(until date: WallTime, at now: Moment) -> Bool {
        guard let deadline, date > now.date else { return false }
        let later = now.elapsed.addingClamped(date.distance(from: now.date))
        guard later > deadline else { return false }
        self.deadline = later
        record.limits.duration = seconds(of: date) - Double(clock.ahead(at: now)) / 1e9 - (record.limits.before ?? 0)
        noteChange()
        return true
    }

    // MARK: The ring

    /// Most separate times that may be kept: all of them are stored with each change.
    private static let maximumKept = 10_000

    /// Files that the session's ring removes next, by log.
    /// - Parameter limit: most files to return.
    func expiredFiles(limit: Int, at now: Moment) -> [LogName: [FinishedFile]] {
        guard let ring = FileRing(record) else { return [:] }
        var left = limit
        var expired: [LogName: [FinishedFile]] = [:]
        for stream in ordered where left > 0 {
            let files = stream.log.expired(ring, announced: announced[stream.log.name] ?? 0, limit: left, at: now)
            if files.isEmpty { continue }
            expired[stream.log.name] = files
            left -= files.count
        }
        return expired
    }

    /// Notes which files the ring removed or could not remove.
    func noteRemoval(
        of files: [LogName: [FinishedFile]], refused: [String: String], at date: WallTime
    ) -> [(log: LogName, file: FinishedFile, index: Int)] {
        files.sorted { $0.key.text < $1.key.text }.flatMap { name, files in
            guard let stream = streamsByLog[name] else { return [(log: LogName, file: FinishedFile, index: Int)]() }
            stream.isChanged = true
            return stream.log.noteRemoval(of: files, refused: refused, at: date).map { (name, $0.file, $0.index) }
        }
    }

    /// Keeps the files of a time range from removal by the ring.
    /// - Returns: the time range kept now, merged with those that it touches.
    package func keep(_ time: KeptTime) throws(RequestError) -> KeptTime {
        guard record.limits.keep != nil else {
            throw RequestError(
                .invalidParameter, "session \(identifier) removes no files: it was started without keep")
        }
        var kept = record.kept ?? []
        let whole = kept.insert(time)
        if kept == record.kept { return whole }
        guard kept.count <= Self.maximumKept else {
            throw RequestError(
                .tooMany, "session \(identifier) already keeps \(Self.maximumKept) spans: keep fewer, longer ones")
        }
        record.kept = kept
        noteChange()
        return whole
    }

    /// The finished files that may have samples of one of several time ranges, or were written then.
    package func files(of times: [KeptTime]) -> [FinishedFile] {
        ordered.flatMap { stream in
            stream.log.record.files.filter { file in
                times.contains { FileRing.overlaps(file, of: stream.log.name, $0, since: record.startDate) }
            }
        }
    }

    package func move(to step: String, at now: Moment) {
        let date = clock.date(at: now)
        let timestamp = changeTime(at: date)
        record.steps.append(SessionRecord.Step(date: date, timestamp: timestamp, step: step))
        take(SessionRecord.Change(event: .step, timestamp: timestamp, step: step), at: date)
    }

    /// Keeps an annotation, and marks it in the logs of its streams. A time of the request may be the wall clock's or the
    /// session's; see `SessionClock.placed`.
    /// - Returns: the annotation, and whether it is new; see `SessionRecord.annotation`.
    package func annotate(
        _ request: RecordingAnnotate, at now: Moment
    ) throws(RequestError) -> (annotation: Annotation, isNew: Bool) {
        // As last noted, so that a repeated request gets the same time.
        let set = record.clockAhead
        let (known, date) = (record.annotations ?? [], clock.date(at: now))
        // A request may be repeated long after the first one, when its time no longer shows which clock's it is.
        for ahead in set == 0 || request.from == nil ? [] : [0, set] {
            let repeated = request.moved { $0.subtracting(ahead) }
            if let found = try? record.annotation(repeated, known: known, at: date), !found.isNew { return found }
        }
        let placed = request.moved { SessionClock.placed($0, at: now.date, ahead: set) }
        let (annotation, isNew) = try record.annotation(placed, known: known, at: date)
        guard isNew else { return (annotation, false) }
        record.annotations = known + [annotation]
        noteChange()
        for stream in ordered where annotation.stream ?? stream.name == stream.name { stream.log.mark(annotation) }
        return (annotation, true)
    }

    /// Leaves out samples of all streams, or of one.
    /// - Returns: false if they are paused already.
    /// - Throws: `unknownStream` if the session has no such stream.
    package func pause(_ stream: StreamName? = nil, at now: Moment) throws(RequestError) -> Bool {
        try requireStream(stream)
        guard openPause(of: stream) == nil else { return false }
        let date = clock.date(at: now)
        let timestamp = changeTime(at: date)
        record.pauses.append(SessionRecord.Pause(from: timestamp, stream: stream))
        take(SessionRecord.Change(event: .pause, timestamp: timestamp, stream: stream), at: date)
        return true
    }

    /// - Returns: false if they are not paused.
    /// - Throws: `unknownStream` if the session has no such stream.
    package func resume(_ stream: StreamName? = nil, at now: Moment) throws(RequestError) -> Bool {
        try requireStream(stream)
        guard let index = openPause(of: stream) else { return false }
        let date = clock.date(at: now)
        let timestamp = changeTime(at: date)
        record.pauses[index].to = timestamp
        take(SessionRecord.Change(event: .resume, timestamp: timestamp, stream: stream), at: date)
        return true
    }

    private func openPause(of stream: StreamName?) -> Int? {
        record.pauses.lastIndex { $0.stream == stream && $0.to == nil }
    }

    private func requireStream(_ stream: StreamName?) throws(RequestError) {
        guard let stream, streams[stream] == nil else { return }
        let names = ordered.map(\.name.description).sorted().prefix(Self.namedStreams).joined(separator: ", ")
        throw RequestError(
            .unknownStream,
            "session \(identifier) has no stream \(stream): " + (names.isEmpty ? "it has none yet" : "it has \(names)"))
    }

    package func markRestart(at date: WallTime) {
        record.restarts.append(date)
        noteChange()
        for stream in ordered {
            stream.log.mark(.resumed, at: date)
            // The earlier pause marker may have been lost with the torn end of the file.
            if stream.log.timeline.current.isPaused { stream.log.mark(.pause, at: date) }
        }
    }

    /// All at once: each note is a copy of the record.
    package func note(_ comparisons: [ClockComparison]) {
        if comparisons.isEmpty { return }
        record.clocks += comparisons
        noteChange()
    }

    /// Notes how far the wall clock was set, for a recorder that resumes the session.
    /// - Returns: the seconds by which it was set since the last call; nil if it was not.
    package func noteClock(at now: Moment) -> Double? {
        let ahead = Double(clock.difference(at: now)) / 1e9
        let set = ahead - (record.clockSet ?? 0)
        guard set.magnitude >= 1 else { return nil }
        record.clockSet = ahead.magnitude < 1 ? nil : ahead
        noteChange()
        return set
    }

    // MARK: Files

    /// The record to store now; nil if nothing changed, or it is too early. It covers everything written into the write-ahead log
    /// so far, so commit that before you store the record. Then call `finishStoring`.
    package func takeStorable(at now: Int64) -> SessionRecord? {
        guard now >= storableAt else { return nil }
        guard isChanged || ordered.contains(where: \.isChanged) else { return nil }
        isChanged = false
        for stream in ordered { stream.isChanged = false }
        record.logs = logs
        record.logPosition = LogPosition(log: appender.log, recorded: appender.position, written: written)
        return storable
    }

    /// - Parameters:
    ///   - record: the record that `session.json` has now; nil if it could not be stored.
    ///   - began: when the store began, on the monotonic clock; it ended at `now`.
    package func finishStoring(_ record: SessionRecord?, began: Int64, at now: Int64) {
        storePause = min(Self.longestStorePause, Self.storeFactor * (now - began))
        storableAt = now + storePause
        stored = record?.logPosition?.written ?? stored
    }

    /// Where the files of all streams stand once everything written so far is in them.
    package var places: [StreamName: DurablePlace] { streams.compactMapValues { $0.log.place } }

    /// Notes that the stream files are durable up to these places.
    package func note(durable places: [StreamName: DurablePlace], before position: Int) {
        for stream in ordered { stream.log.record.durable = places[stream.name] }
        written = position
        isChanged = true
        // The new position may be stored at once.
        storableAt = 0
    }

    /// Stores the session as soon as the file of a log is finished, even if it was stored lately: somebody waits for that.
    func storeOnceFinished(_ log: LogName) { awaitedLogs.insert(log) }

    package func add(_ file: FinishedFile, to name: LogName) {
        guard let stream = streamsByLog[name], stream.log.add(file) else { return }
        stream.isChanged = true
        // Only after the last of them: it takes time to store a session of a thousand streams.
        if awaitedLogs.remove(name) != nil, awaitedLogs.isEmpty { storableAt = 0 }
    }

    package var isWaitingForFiles: Bool { ordered.contains { $0.log.isWaitingForFiles || !$0.log.isClosed } }

    /// - Returns: the record to store last.
    package func finish() -> SessionRecord {
        isFinished = true
        record.status.advance(to: .finished)
        record.logPosition = nil
        record.resultsUntil = nil
        for stream in ordered { stream.log.record.durable = nil }
        record.logs = logs
        return record
    }

    func end(at now: Moment) { record.endDate = record.endDate ?? clock.date(at: now) }

    package func replace(by repaired: SessionRecord) {
        record.status.advance(to: repaired.status)
        record.note(failures: repaired.failures)
        closed = repaired.logs.map { log in
            var log = log
            log.add(unwritten: streamsByLog[log.name]?.gaps ?? [])
            return log
        }
        streams = [:]
        ordered = []
    }

    package func forget() {
        for stream in ordered { appender.forget(stream.log.number) }
        appender.forget(number)
    }

    private var logs: [SessionRecord.Log] { closed + ordered.map(\.record) }

    // MARK: Report

    package var report: SessionReport {
        var record = record
        record.logs = logs
        // A session.json that somebody changed may list a log twice.
        let openBytes = ordered.reduce(into: [:]) { $0[$1.log.name] = $1.log.openBytes }
        return SessionReport(record, openBytes: openBytes, commitLatency: latencies.reported)
    }

    package var state: RecordingState {
        var state = RecordingState(
            session: identifier.text, status: status.rawValue, step: timeline.current.stepPath,
            paused: timeline.current.isPaused, logs: summaries,
            failures: failures.isEmpty ? nil : failures)
        state.describe(record)
        return state
    }

    /// The failures so far, and the sensors that are silent now.
    private var failures: [String] { record.failures + watch.unheard }

    package var summaries: [LogSummary] {
        ordered.map { stream in
            let (log, counts) = (stream.log, stream.log.record.counts)
            return LogSummary(
                name: log.name.text, file: log.openFile ?? log.record.files.last?.name ?? "", stream: stream.name,
                samples: counts.written, bytes: log.byteCount, gaps: stream.gaps.count, recovered: counts.recovered,
                paused: log.timeline.current.isPaused ? true : nil)
        }
    }

    /// Applies a change that the record already has, and marks it in the logs that it concerns.
    private func take(_ change: SessionRecord.Change, at date: WallTime) {
        // The record first: no log may have a marker of a change that the session, after a crash, does not know.
        noteChange()
        if let name = change.stream {
            guard let log = streams[name]?.log else { return }
            if log.timeline.stream == nil {
                let wasPaused = log.timeline.current.isPaused
                log.timeline = SessionTimeline(record, of: name)
                if wasPaused != log.timeline.current.isPaused { log.mark(wasPaused ? .resume : .pause, at: date) }
            } else {
                for event in log.timeline.take(change) { log.mark(event, at: date) }
            }
            return
        }
        let events = timeline.take(change)
        for stream in ordered {
            var own = events
            if stream.log.timeline.stream == nil {
                stream.log.timeline = timeline
            } else {
                own = stream.log.timeline.take(change)
            }
            for event in own { stream.log.mark(event, at: date) }
        }
    }

    /// The timeline of a stream. Streams without steps or pauses of their own share the session's.
    func timeline(of stream: StreamName) -> SessionTimeline {
        record.isApart(stream) ? SessionTimeline(record, of: stream) : timeline
    }

    /// The time of a change, in seconds since the session's start: never before the last change, even if the clock was set back
    /// while no recorder ran.
    private func changeTime(at date: WallTime) -> Double {
        max(seconds(of: date), record.changes.last?.timestamp ?? -.infinity)
    }

    private func time(of date: WallTime) -> Int64 { date.distance(from: record.startDate) }

    /// Seconds since the session's start.
    private func seconds(of date: WallTime) -> Double { Double(time(of: date)) / 1e9 }

    /// Seconds since the session's start.
    package func seconds(at now: Moment) -> Double { seconds(of: clock.date(at: now)) }

    /// The markers so far, for the log of a stream that is opened later.
    private func history(of stream: StreamName) -> [(event: Marker.Event, date: WallTime, stepPath: String)] {
        var timeline = SessionTimeline(
            task: record.task, step: record.step, stream: stream, choice: record.choice(of: stream))
        var history: [(event: Marker.Event, date: WallTime, stepPath: String)] = [
            (.start, record.startDate, timeline.current.stepPath)
        ]
        if timeline.current.isPaused { history.append((.pause, record.startDate, timeline.current.stepPath)) }
        for change in record.changes where change.stream == nil || change.stream == stream {
            let date = record.startDate.adding(Int64(nanosecondsIn: change.timestamp))
            for event in timeline.take(change) {
                history.append((event, date, timeline.current.stepPath))
            }
        }
        return history
    }
}

extension SessionRecord.Log {
    /// Adds gaps whose markers are not in the files because the disk refused them. They follow at the end of the files.
    fileprivate mutating func add(unwritten known: [Gap]) {
        for gap in known {
            if gaps.contains(where: { $0.extent == gap.extent }) { continue }
            let end = epochs.firstIndex { $0.epoch == gap.epoch && $0.next == gap.from }
            guard let index = end else { continue }
            epochs[index].next = epochs[index].next.addingClamped(gap.count)
            var gap = gap
            gap.reason = .notWritten
            gaps.append(gap)
        }
    }
}

extension RecordingAnnotate {
    /// The same request with other times.
    fileprivate func moved(_ place: (WallTime) -> WallTime) -> RecordingAnnotate {
        var moved = self
        moved.from = from.map(place)
        moved.to = to.map(place)
        return moved
    }
}
