import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// What is watched of publishers: which sensors fail, and how far their clocks are from this one's.
extension RecordingEngine {
    /// The first time after which clocks are compared again; later ones come with the session's age, so that a long
    /// session has no more comparisons than can be looked at.
    private static let comparisonInterval = TimeSpan.seconds(30)
    /// Seconds; less is for the report alone.
    private static let largestOffset = 1.0

    func watchStreams(at now: Moment) {
        watchedAt = now.monotonic
        for session in sessions.values where session.status == .running {
            for stream in session.ordered {
                session.watch.note(samples: stream.log.record.counts.received, of: stream.name)
            }
            let time = session.seconds(of: now.date)
            tell(session.watch.check(at: watchedAt, time: time, isListening: !isBehind), of: session)
        }
    }

    /// Takes what publishers say of a session's streams when it stops: what failed by then belongs to it.
    func finishWatch(_ descriptions: [StreamDescription], of session: Session, at now: Moment) {
        let time = session.seconds(of: now.date)
        // One that is only stopped may have been stopped together with the session, and one that was not heard of may
        // have sampled on.
        for description in descriptions where session.streams[description.name] != nil {
            guard description.state == .failed || session.watch.isUnheard(description.name) else { continue }
            session.watch.take(description, at: now.monotonic, time: time)
        }
        tell(session.watch.finish(at: now.monotonic, time: time), of: session)
    }

    /// Notes failures, and publishes and logs them. All at once: each note is a copy of the session's record.
    private func tell(_ findings: [StreamWatch.Finding], of session: Session) {
        if findings.isEmpty { return }
        session.note(failures: findings.filter(\.isFailure).map(\.sentence))
        for finding in findings {
            let metadata: Logger.Metadata = ["session": "\(session.identifier)", "stream": "\(finding.stream)"]
            if finding.isRecovery {
                logger.notice("\(finding.sentence)", metadata: metadata)
            } else if finding.isNew {
                logger.error(
                    "a sensor failed", metadata: metadata.merging([LogKey.error: "\(finding.sentence)"]) { $1 })
                publish(.failure, of: session, stream: finding.stream, reason: finding.sentence)
            }
        }
    }

    // MARK: Clocks

    /// Compares the clocks of the publishers of every session, now and then, until the task is cancelled.
    func compareClocksRegularly() async throws {
        while true {
            try await thread.sleep(until: MonotonicClock.now + 1_000_000_000)
            for session in Array(sessions.values) where session.status == .running {
                await compareClocks(of: session)
            }
            tellOfWrongClocks()
        }
    }

    /// Has health tell of a clock that is so wrong that its samples seem to be of another time than their session.
    private func tellOfWrongClocks() {
        let sources = sessions.values.filter { $0.status == .running }.map(\.publishers)
        wrongClocks = wrongClocks.filter { clock in sources.contains { $0.contains(clock.key) } }
        guard let (endpoint, seconds) = wrongClocks.min(by: { $0.key < $1.key }) else { return health.clear("clock") }
        health.reportClock(
            of: endpoint, ahead: seconds,
            ", and its samples are placed by it: set the clock, and start its publisher anew")
    }

    /// Compares the clocks of a session's publishers, those that it is time for.
    /// - Parameter isLast: all of them.
    func compareClocks(of session: Session, isLast: Bool = false) async {
        let now = MonotonicClock.now
        let age = WallTime.now.nanosecondsSince1970 - session.record.startDate.nanosecondsSince1970
        let interval = max(Self.comparisonInterval.nanoseconds, age / 50)
        let due = session.publishers.filter { endpoint in
            guard !isLast, let last = session.comparedAt[endpoint] else { return true }
            return now - last >= interval
        }
        for endpoint in due { session.comparedAt[endpoint] = now }
        for comparison in await publishers.clocks(at: due) where session.isRecording {
            session.note(comparison)
            let isWrong = abs(comparison.offset) > Self.largestOffset + comparison.roundTrip
            wrongClocks[comparison.endpoint] = isWrong ? comparison.offset : nil
        }
    }
}
