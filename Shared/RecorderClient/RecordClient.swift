import MessageBus
package import Messages
import Recording
package import ServiceKit
import UnixSignals
import ZeroMQ

/// Drives one session of a running recorder from a terminal.
///
/// If the recorder is killed meanwhile and restarted, it resumes the session, and this client continues. The same holds if
/// another machine continues the session.
package struct RecordClient {
    /// How often the progress line is updated on a terminal; otherwise, a line is printed every `plainInterval`.
    private static let interval = TimeSpan.milliseconds(250)
    private static let plainInterval = TimeSpan.seconds(5)
    /// How long a recorder may take to start a session: it first asks its publishers.
    private static let startTimeout = Duration.seconds(6)
    /// How long a recorder may take to answer while it records.
    private static let answerTimeout = Duration.seconds(5)
    /// How long a recorder may be unreachable, or not have the session, before the client gives up on the session.
    private static let absenceLimit = Duration.seconds(60)
    /// The same after a signal: the user waits for the end, and a machine that shuts down has already stopped its recorder.
    private static let absenceLimitAfterSignal = Duration.seconds(15)
    /// The pause before asking a recorder again that does not have the session.
    private static let retryInterval = Duration.seconds(1)
    /// How long a recorder may take to stop a session: it waits for samples that a publisher or a relay may still have, and
    /// finishes its files.
    private static let stopLimit = Duration.seconds(600)

    /// Time limit of the request that follows a second signal.
    private static let lastTimeout = Duration.milliseconds(500)

    private let recorder: RequestClient
    private let publisher: RequestClient
    private let thread: SocketThread

    package init(recorder: Endpoint, sensorPublisher: Endpoint, security: Security) throws {
        thread = try SocketThread(name: "record")
        let peers = Peers(context: try Context(), thread: thread, security: security)
        self.recorder = try peers.client(of: .recorder, at: recorder)
        publisher = try peers.client(of: .sensorPublisher, at: sensorPublisher)
    }

    /// Records a session, prints its report, and returns its result.
    /// - Parameters:
    ///   - series: the first part of the sessions' names; a session of the series that is in progress is continued.
    ///   - steps: the steps, and when to change to them.
    ///   - labels: the labels of the keys 1 to 9.
    package func record(
        _ request: RecordingStart, inSeries series: String?, steps: [StepChange], labels: [String] = []
    ) async throws -> RecordingResult {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let (course, startDate): (SessionCourse, WallTime)
        do {
            (course, startDate) = try await begin(request, inSeries: series, steps: steps)
        } catch let error as ZeroMQError where error.code == .timedOut {
            throw ServiceError(
                .peerUnavailable, "no recorder answers at \(recorder.endpoint): start one, or pass --reply ENDPOINT")
        }
        let annotations = await keyAnnotations(labels, of: course, startedBefore: startDate)
        defer { annotations?.end() }
        let isOver: Void? = try await unlessSignal(signals) { try await follow(course, since: startDate, annotations) }
        let result = try await end(course, annotations, afterSignal: isOver == nil)
        StandardStream.output.print("\n\(result.report.table)files are in \(result.directory)\n")
        return result
    }

    /// The result of some work; nil if a signal comes first, which cancels the work.
    private func unlessSignal<Result: Sendable>(
        _ signals: UnixSignalsSequence, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            // Whichever ends first. The result of the other one is not needed.
            let result = try await group.next() ?? nil
            group.cancelAll()
            while await group.nextResult() != nil {}
            return result
        }
    }

    /// Ends a session. A second signal stops waiting for the end, and the recorder ends the session by itself.
    private func end(
        _ course: SessionCourse, _ annotations: KeyAnnotations?, afterSignal: Bool
    ) async throws -> RecordingResult {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        if afterSignal {
            StandardStream.output.print(
                "\nending session \(course.session): a second signal leaves that to the recorder\n")
        }
        let absenceLimit = afterSignal ? Self.absenceLimitAfterSignal : Self.absenceLimit
        let result: RecordingResult? = try await unlessSignal(signals) {
            // The report has only annotations that arrive before the end. The others are accepted after it.
            await annotations?.sendRest(within: .zero)
            return try await stop(course, within: absenceLimit)
        }
        if let result {
            if let annotations {
                // A cancelled wait ends a sequence of signals, so this one needs its own.
                let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
                _ = try await unlessSignal(signals) { await annotations.sendRest(within: absenceLimit) }
            }
            return result
        }
        // The signal may have come before the request was sent.
        let last = RecordingStop(session: course.session)
        if let result = try? await recorder.send(last, timeout: Self.lastTimeout) { return result }
        throw ServiceError(
            .inputOutput, "the recorder has yet to end session \(course.session): recorder info shows when it has")
    }

    /// Requests a session's end until it has come. A repeated request joins the one in progress.
    private func stop(_ course: SessionCourse, within absenceLimit: Duration) async throws -> RecordingResult {
        let clock = ContinuousClock()
        let end = clock.now + Self.stopLimit
        var lastAnswer = clock.now
        var answered: Bool?
        while true {
            do {
                return try await recorder.send(RecordingStop(session: course.session), timeout: Self.answerTimeout)
            } catch let error where Self.isAbsence(error) && clock.now < end {
                let answers = (try? await status(of: course)) != nil
                if answers { lastAnswer = clock.now }
                guard clock.now < lastAnswer + absenceLimit else { throw error }
                if answers != answered {
                    let state =
                        error is RequestError
                        ? "does not have the session" : answers ? "is still ending the session" : "does not answer"
                    StandardStream.output.print("the recorder \(state)\n")
                }
                answered = answers
                if error is RequestError { try await clock.sleep(for: Self.retryInterval) }
            }
        }
    }

    /// Starts a session, or finds the session of the series that is in progress.
    private func begin(
        _ request: RecordingStart, inSeries series: String?, steps: [StepChange]
    ) async throws -> (SessionCourse, startDate: WallTime) {
        let duration = request.duration.map { Duration.seconds($0) }
        var request = request
        if let series = series.map(SessionSeries.init(name:)) {
            let known = try await recorder.send(RecordingList(), timeout: Self.startTimeout).recordings
            let open = known.filter {
                SessionStatus(rawValue: $0.status)?.isOver == false && series.contains($0.session)
            }
            for entry in open where entry.isInterrupted == true {
                StandardStream.error.print(
                    "the recorder could not continue session \(entry.session): its health has the reason\n")
            }
            let entry = open.last { $0.isInterrupted != true }
            if let entry {
                StandardStream.output.print("continuing session \(entry.session)\n")
                var course = SessionCourse(of: entry.session, steps: steps, duration: duration)
                let state = try await recorder.send(RecordingStatus(session: entry.session), timeout: Self.startTimeout)
                let before = Int64(nanosecondsIn: state.configuration?.before ?? 0)
                let asked = WallTime(nanosecondsSince1970: entry.startDate.nanosecondsSince1970 + before)
                course.take(state, at: Self.time(since: asked))
                return (course, asked)
            }
            request.session = series.next
        }
        let started = try await recorder.send(request, timeout: Self.startTimeout)
        StandardStream.output.print("recording session \(started.session)\n")
        if started.logs.isEmpty {
            StandardStream.output.print("no such stream exists yet: its file is opened when it appears\n")
        }
        return (SessionCourse(of: started.session, steps: steps, duration: duration), .now)
    }

    /// Begins to annotate a session when keys are pressed; nil if there are no labels.
    /// - Parameter date: a moment after the session's start, which is used if the recorder does not report the start.
    private func keyAnnotations(
        _ labels: [String], of course: SessionCourse, startedBefore date: WallTime
    ) async -> KeyAnnotations? {
        if labels.isEmpty { return nil }
        let startDate = (try? await status(of: course))?.startDate ?? date
        let keys = KeyInput(labels, thread: thread)
        StandardStream.output.print("keys: \(keys.legend)\n")
        return KeyAnnotations(
            of: keys, in: course.session, since: startDate, recorder: recorder, timeout: Self.answerTimeout)
    }

    /// Follows a session, and meanwhile annotates it when keys are pressed.
    private func follow(
        _ course: SessionCourse, since startDate: WallTime, _ annotations: KeyAnnotations?
    ) async throws {
        guard let annotations else { return try await follow(course, since: startDate) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await follow(course, since: startDate)
                return true
            }
            group.addTask {
                try await annotations.run()
                return false
            }
            // The end of the input does not end the session.
            while let isOver = try await group.next(), !isOver {}
            group.cancelAll()
            while await group.nextResult() != nil {}
        }
    }

    /// Shows progress and changes steps, until the duration has passed or the session has ended.
    private func follow(_ course: SessionCourse, since startDate: WallTime) async throws {
        let clock = ContinuousClock()
        let start = clock.now - Self.time(since: startDate)
        let line = ProgressLine()
        let interval = (line.isMoving ? Self.interval : Self.plainInterval).duration
        var course = course
        var tick = Duration.zero
        while tick <= clock.now - start { tick += interval }
        var lastAnswer = clock.now
        var isUnsure = false
        while !course.isOver(at: clock.now - start) {
            // The next step, the end or the next line, whichever comes first.
            try await clock.sleep(until: start + min(tick, course.nextEvent ?? tick))
            do {
                if isUnsure { course.take(try await status(of: course), at: clock.now - start) }
                isUnsure = false
                while let step = course.stepDue(at: clock.now - start) {
                    let move = RecordingMoveTo(session: course.session, step: step)
                    do {
                        _ = try await recorder.send(move, timeout: Self.answerTimeout)
                    } catch let error as RequestError {
                        // The session may have been ended by somebody else, or by a disk error.
                        let state = try await status(of: course)
                        // Another machine may have begun to continue it meanwhile.
                        let isRunning = state.status == SessionStatus.running.rawValue
                        guard isRunning || error.isOf(.unknownSession) else { return }
                        throw error
                    }
                    course.finishStep()
                }
                lastAnswer = clock.now
                guard clock.now - start >= tick || line.isMoving else { continue }
                while tick <= clock.now - start { tick += interval }
                let state = try await status(of: course)
                let health = try? await publisher.send(ServiceHealth(), timeout: .milliseconds(200))
                line.show(state, after: clock.now - start, of: course.duration, publisher: health?.measures ?? [:])
                if SessionStatus(rawValue: state.status)?.isOver ?? false { return }
            } catch let error as ZeroMQError where error.code == .timedOut {
                guard clock.now < lastAnswer + Self.absenceLimit else { throw error }
                StandardStream.output.print("the recorder does not answer\n")
                isUnsure = true
            } catch let error as RequestError where error.isOf(.unknownSession) {
                guard clock.now < lastAnswer + Self.absenceLimit else { throw error }
                if !isUnsure { StandardStream.output.print("the recorder does not have the session: asking again\n") }
                isUnsure = true
                try await clock.sleep(for: Self.retryInterval)
            }
        }
    }

    /// Whether no machine has the session at present: no recorder answers, or the one that took over has yet to continue the
    /// session.
    private static func isAbsence(_ error: any Error) -> Bool {
        switch error {
        case let error as ZeroMQError: error.code == .timedOut
        case let error as RequestError: error.isOf(.unknownSession)
        default: false
        }
    }

    private func status(of course: SessionCourse) async throws -> RecordingState {
        try await recorder.send(RecordingStatus(session: course.session), timeout: Self.answerTimeout)
    }

    private static func time(since date: WallTime) -> Duration {
        .nanoseconds(max(0, WallTime.now.nanosecondsSince1970 - date.nanosecondsSince1970))
    }
}
