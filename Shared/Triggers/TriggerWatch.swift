import Logging
package import MessageBus
package import Messages
import Recording
import ServiceKit

/// Watches streams for triggers and decides about sessions: the whole state of `recorder watch`.
///
/// It receives events with their time and returns effects. The caller has sockets and a clock: it carries the effects out and
/// reports the results. Confined to one thread.
package final class TriggerWatch: RecoveringCore {
    /// Most bytes that may wait for samples before them, of all streams together.
    private static let holdLimit = 64_000_000
    /// Most streams that can't be watched and are remembered as such: a stranger could publish under ever new names.
    private static let maximumRefused = 4_096
    private static let keptAhead: Int64 = 5_000_000_000
    /// Most requests to keep a time that may wait while a recorder is unreachable; further triggers are reported, and lost.
    private static let maximumKeeps = 1_000

    package var effects: [Effect] = []

    private let expressions: [TriggerExpression]
    private let patterns: Set<String>
    private let prefix: String
    /// Makes names of sessions of the same second differ.
    private var number: UInt16
    /// Nanoseconds.
    private let (before, after): (Int64, Int64)
    private let limit: Int
    /// The session with a ring that keeps the time around triggers; nil to record sessions.
    private let ring: String?
    private var sessions: TriggeredSessions
    /// The latest time range that the ring was asked to keep, merged with ranges that touch it, on the monotonic clock.
    private var keptTime: ClosedRange<Int64>?
    private var triggersKept = 0
    /// The number of unanswered requests to keep a time.
    private var openKeeps = 0
    private var streams: [StreamName: WatchedStream] = [:]
    /// The streams with a condition that time alone can change.
    private var timed: [WatchedStream] = []
    private var topics = TopicTable<WatchedStream>()
    private var descriptions = StreamDescriptions()
    private var refused: [StreamName: String] = [:]
    private let held = HeldBytes(limit: TriggerWatch.holdLimit)
    private var isStopping = false

    /// - Parameters:
    ///   - before: nanoseconds that a session begins before its first trigger.
    ///   - after: nanoseconds that a session ends after its last trigger.
    ///   - limit: most sessions; nil for any number.
    ///   - prefix: the first part of the sessions' names.
    ///   - number: number of the first session, so that its name differs from those of another watch.
    ///   - ring: a session that keeps the time around each trigger; then no other sessions are recorded.
    package init(
        _ expressions: [TriggerExpression], before: Int64, after: Int64, limit: Int? = nil, prefix: String,
        number: UInt16, ring: String? = nil
    ) {
        self.expressions = expressions
        self.ring = ring
        self.limit = limit ?? .max
        (self.before, self.after) = (before, after)
        self.prefix = prefix
        self.number = number
        patterns = Self.patterns(of: expressions)
        sessions = TriggeredSessions(before: before, after: after, limit: limit)
    }

    /// The patterns of streams to subscribe to.
    package static func patterns(of expressions: [TriggerExpression]) -> Set<String> {
        Set(expressions.compactMap(\.pattern))
    }

    /// Whether no session is open or being ended, and no request to keep a time is unanswered.
    package var isIdle: Bool { sessions.isIdle && openKeeps == 0 }

    /// Whether no more events can change anything.
    package var isOver: Bool {
        ring == nil ? sessions.isOver : openKeeps == 0 && (triggersKept >= limit || isStopping)
    }

    package var nextDeadline: Int64 {
        timed.reduce(sessions.nextDeadline) { min($0, $1.deadline ?? .max) }
    }

    package func wake(at now: Moment) {
        for stream in timed where stream.deadline.map({ $0 <= now.monotonic }) ?? false {
            stream.wake(at: now)
            finish(stream, isMissing: false, at: now)
        }
        sessions.wake(at: now.monotonic)
        emitActions(at: now)
    }

    /// Ends all sessions.
    package func stop(at now: Moment) {
        isStopping = true
        sessions.stopAll(at: now.monotonic)
        emitActions(at: now)
    }

    /// Reports what the recorder did not confirm, because the watch stops waiting.
    package func giveUpUnconfirmed() {
        if isIdle { return }
        emit(.lost)
        for session in sessions.unfinished {
            emit(.say("session \(session) may not be whole: the recorder did not confirm its end in time"))
        }
        if openKeeps > 0 {
            let times = openKeeps == 1 ? "1 time" : "\(openKeeps) times"
            emit(.say("session \(ring ?? "") may not keep \(times): the recorder did not confirm that in time"))
        }
    }

    // MARK: Arriving messages

    /// Takes an event of a publisher.
    /// - Returns: the stream's description, if the event is one.
    /// - Throws: `MessageError` or `DecodingError` if the event can't be read.
    package func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription? {
        if let stream = topics.value(of: frames.topic) {
            let body = try stream.reader.read(frames.body)
            try take(
                ReceivedBatch(body, frames.body, packed: frames.packed), by: stream,
                published: EventTime.time(in: frames.time), at: now)
        } else if frames.isIn(TopicArea.stream) {
            let description = try descriptions.read(frames)
            take(description, at: now)
            return description
        }
        return nil
    }

    /// Takes a batch of samples.
    /// - Parameter published: when the publisher sent the batch, by its own clock.
    package func take(
        _ batch: ReceivedBatch, of name: StreamName, published: WallTime?, at now: Moment
    ) throws(MessageError) {
        guard let stream = streams[name] else { return }
        try take(batch, by: stream, published: published, at: now)
    }

    private func take(
        _ batch: ReceivedBatch, by stream: WatchedStream, published: WallTime?, at now: Moment
    ) throws(MessageError) {
        if isStopping { return }
        let isMissing = try stream.take(batch, at: now)
        finish(stream, isMissing: isMissing, published: published, at: now)
    }

    /// Takes an event of log-manager.
    package func take(_ event: LogFileEvent, at now: Moment) {
        guard event.change == .threshold, !isStopping else { return }
        for expression in expressions {
            guard case .threshold(let name, let log) = expression.subject, name == nil || name == event.threshold,
                log.map({ LogPattern.matches($0, event.name) }) ?? true
            else { continue }
            let bytes = event.bytes.map { ": \($0) bytes" } ?? ""
            let instant = now.monotonic.addingClamped(min(0, event.date.distance(from: now.date)))
            trigger("\(event.threshold ?? "threshold") of \(event.name)\(bytes)", at: instant, published: nil, now: now)
        }
        emitActions(at: now)
    }

    /// Takes a publisher's description of a stream.
    package func take(_ description: StreamDescription, at now: Moment) {
        let name = description.name
        guard !isStopping, name.matches(anyOf: patterns), StreamName(name.description) == name,
            !description.fields.isEmpty, description.types.map({ $0.count == description.fields.count }) ?? true
        else { return }
        if let stream = streams[name] {
            let leftOut = stream.leftOut
            let isMissing = stream.describe(description, at: now)
            finish(stream, isMissing: isMissing, at: now)
            if stream.leftOut != leftOut { reportConditions(of: stream) }
            return
        }
        do throws(MessageError) {
            let wanted = expressions.filter { $0.pattern.map { name.matches($0) } ?? false }
            let stream = try WatchedStream(description, wanted, held: held, at: now)
            streams[name] = stream
            if stream.isTimed { timed.append(stream) }
            Array((TopicArea.samples + name.description).utf8).withUnsafeBytes { topics.add($0, stream) }
            refused[name] = nil
            reportConditions(of: stream)
        } catch {
            guard refused[name] != error.message, refused.count < Self.maximumRefused else { return }
            refused[name] = error.message
            emit(.say("\(name) is not watched: \(error.message)"))
        }
    }

    private func reportConditions(of stream: WatchedStream) {
        if stream.isWatched { emit(.say("watching \(stream.name)")) }
        for (expression, reason) in stream.leftOut.sorted(by: { $0.key.description < $1.key.description }) {
            emit(.say("\(stream.name) is not watched for \(expression): \(reason)"))
        }
    }

    /// Handles a stream's findings, and begins a replay of missing samples.
    private func finish(_ stream: WatchedStream, isMissing: Bool, published: WallTime? = nil, at now: Moment) {
        for gap in stream.takeLost() {
            emit(.lost)
            emit(
                .say(
                    "\(gap.count) samples of \(stream.name) from \(gap.from) on were lost to the watch: \(gap.reason.rawValue)"
                ))
        }
        let found = stream.takeFound()
        for finding in found where !isStopping {
            if finding.isNew {
                let value = finding.value.map { " is \(Self.text($0))" } ?? ""
                stream.keptUntil[finding.expression] = trigger(
                    "\(stream.name)\(value): \(finding.expression)", at: finding.instant, published: published,
                    now: now)
            } else if ring == nil {
                sessions.hold(at: finding.instant, now: now.monotonic)
            } else if let kept = stream.keptUntil[finding.expression] {
                // If samples were replayed, a finding may be long after the one before; the expression held all the time between
                // them.
                let start = min(kept, finding.instant.subtractingClamped(before))
                stream.keptUntil[finding.expression] = extend(
                    kept, from: start, until: finding.instant.addingClamped(after), now: now)
            }
        }
        if !found.isEmpty { emitActions(at: now) }
        guard isMissing, !stream.isRecovering else { return }
        stream.isRecovering = true
        emit(.recover(stream.name))
    }

    // MARK: Missing samples

    /// The samples that a stream's publisher must replay next; nil if nothing is missing, which ends the recovery.
    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let stream = streams[name] else { return nil }
        let missing = isStopping ? nil : stream.missing(at: now)
        finish(stream, isMissing: false, at: now)
        stream.isRecovering = missing != nil
        return missing
    }

    package func heardSince(_ name: StreamName, at now: Moment) -> Int64? {
        streams[name]?.heard.since(at: now.monotonic)
    }

    /// Takes the answer to a request for missing samples.
    /// - Parameter count: how many samples the frames hold, according to the answer.
    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let stream = asker(of: request) else { return }
        stream.take(frames, count: count, for: request, at: now)
        finish(stream, isMissing: false, at: now)
    }

    /// Gives up the requested samples.
    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment) {
        guard let stream = asker(of: request) else { return }
        stream.giveUp(reason, at: now)
        finish(stream, isMissing: false, at: now)
    }

    private func asker(of request: SamplesReplay) -> WatchedStream? {
        guard !isStopping, let stream = streams[StreamName(device: request.device, stream: request.stream)],
            stream.ordered.buffer.isMissing(request)
        else { return nil }
        return stream
    }

    // MARK: Sessions

    /// - Returns: up to when the ring keeps the trigger's time, on the monotonic clock; nil without a ring, or if the limit is
    ///   reached.
    @discardableResult
    private func trigger(_ what: String, at instant: Int64, published: WallTime?, now: Moment) -> Int64? {
        let fate: String
        var kept: Int64?
        if let ring {
            guard triggersKept < limit else { return nil }
            triggersKept += 1
            let (start, end) = (instant.subtractingClamped(before), instant.addingClamped(after))
            // If the time can't be requested now, it is requested when the expression still holds.
            kept = keep(from: start, until: end, now: now) ? end : start
            fate = "session \(ring) keeps its time"
        } else {
            guard let (session, isNew) = sessions.trigger(at: instant, now: now.monotonic, named: { nextName(at: now) })
            else { return nil }
            fate = "session \(session) \(isNew ? "begins" : "continues")"
        }
        let delay = published.map { published in
            ", found \(now.date.distance(from: published) / 1_000_000) ms after it was published"
        }
        let date = date(of: instant, at: now).localText
        emit(.say("\(date) \(what)\(delay ?? ""): \(fate)"))
        return kept
    }

    /// Keeps the time of an expression that still holds, and some time ahead, so that not every sample of every stream causes a
    /// request.
    /// - Parameter kept: up to when the time is already kept.
    /// - Returns: up to when the time is kept now.
    private func extend(_ kept: Int64, from start: Int64, until end: Int64, now: Moment) -> Int64 {
        if end <= kept { return kept }
        if let keptTime, keptTime.lowerBound <= start, end <= keptTime.upperBound { return keptTime.upperBound }
        let ahead = end.addingClamped(Self.keptAhead)
        return keep(from: start, until: ahead, now: now) ? ahead : kept
    }

    /// - Returns: whether the request to keep the time is sent.
    private func keep(from start: Int64, until end: Int64, now: Moment) -> Bool {
        guard openKeeps < Self.maximumKeeps else {
            emit(.lost)
            emit(.say("\(Self.maximumKeeps) times are waiting to be kept: this one is not kept"))
            return false
        }
        if let time = keptTime, time.lowerBound <= end, start <= time.upperBound {
            keptTime = min(time.lowerBound, start)...max(time.upperBound, end)
        } else if keptTime.map({ $0.upperBound < end }) ?? true {
            keptTime = start...end
        }
        openKeeps += 1
        emit(.keep(from: date(of: start, at: now), to: date(of: end, at: now)))
        return true
    }

    /// Takes the answer to a request to keep a time.
    package func kept(_ outcome: Result<RecordingKeep.Reply, RequestError>, at now: Moment) {
        openKeeps -= 1
        switch outcome {
        case .success(let reply):
            guard let removed = reply.removed else { return }
            emit(.lost)
            emit(.say("\(removed.count) files of session \(reply.session) were removed before they could be kept"))
        case .failure(let error):
            emit(.lost)
            emit(.say("session \(ring ?? "") does not keep it: \(error)"))
        }
    }

    private func emitActions(at now: Moment) {
        for action in sessions.takeActions() {
            switch action {
            case .start(let session, let from, let limit):
                emit(.start(session, from: date(of: from, at: now), until: date(of: limit, at: now)))
            case .extend(let session, let limit): emit(.extend(session, until: date(of: limit, at: now)))
            case .stop(let session): emit(.stop(session))
            }
        }
    }

    /// Takes the result of starting a session.
    /// - Parameter failure: why the session could not be started; nil if it was.
    package func started(_ session: String, failure: String?, at now: Moment) {
        if let failure {
            emit(.lost)
            emit(.say("session \(session) was not recorded: \(failure)"))
        }
        sessions.started(session, isRunning: failure == nil, now: now.monotonic)
        emitActions(at: now)
    }

    /// Takes the result of extending a session.
    /// - Parameter isRunning: whether the session is still running; if not, it is over.
    package func extended(_ session: String, isRunning: Bool, at now: Moment) {
        sessions.extended(session, isRunning: isRunning, now: now.monotonic, named: { nextName(at: now) })
        emitActions(at: now)
    }

    /// Takes the result of ending a session.
    package func stopped(_ session: String, _ outcome: Result<RecordingResult, RequestError>, at now: Moment) {
        switch outcome {
        case .success(let result):
            if !result.report.isWhole { emit(.lost) }
            let samples = result.logs.reduce(0) { $0 + $1.samples }
            let streams = result.logs.count
            emit(
                .say(
                    "session \(session) is over: \(samples) samples of \(streams) \(streams == 1 ? "stream" : "streams"), "
                        + "\(result.report.isWhole ? "whole" : "with loss"), in \(result.directory)"))
        case .failure(let error):
            emit(.lost)
            emit(.say("session \(session): \(error)"))
        }
        sessions.stopped(session)
        emitActions(at: now)
    }

    private func nextName(at now: Moment) -> String {
        number &+= 1
        return "\(prefix)-\(SessionIdentifier(startedAt: now.date, random: number))"
    }

    private func date(of instant: Int64, at now: Moment) -> WallTime {
        now.date.adding(instant.subtractingClamped(now.monotonic))
    }

    /// Rounded to three decimals.
    private static func text(_ value: Double) -> String {
        value.magnitude < 1e12 ? "\((value * 1_000).rounded() / 1_000)" : "\(value)"
    }
}

extension LogPattern {
    /// Whether the log name in an event matches a pattern. An event about all logs, `*`, always does.
    fileprivate static func matches(_ pattern: LogPattern, _ name: String) -> Bool {
        name == LogFileEvent.allLogs || LogName(existing: name).map { pattern.matches($0) } ?? false
    }
}
