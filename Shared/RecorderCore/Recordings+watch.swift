import Logging
package import Messages
package import Recording
import ServiceKit

/// Watches publishers: which sensors fail, and how far their clocks differ from this machine's.
extension Recordings {
    /// How often sensors are checked for failures, and clocks for a comparison that is due.
    private static let watchInterval = TimeSpan.seconds(1)
    /// The first interval between comparisons of clocks. Later intervals grow with the session's age, so that the number of a
    /// long session's comparisons stays readable.
    private static let comparisonInterval = TimeSpan.seconds(30)
    /// Seconds; a smaller offset appears only in the report.
    private static let largestOffset = 1.0

    /// Checks what changes with time alone: lag, sensors and clocks.
    func passTime(at now: Moment) {
        lag.pass(
            isBlocked: isBlocked, date: now.date.nanosecondsSince1970, allowance: clockAllowance, at: now.monotonic)
        guard now.monotonic >= watchedAt + Self.watchInterval.nanoseconds else { return }
        watchedAt = now.monotonic
        for session in sessions.values where session.status == .running {
            noteClock(of: session, at: now)
            for stream in session.ordered {
                session.watch.note(samples: stream.log.record.counts.received, of: stream.name)
                stream.noteLeftOut(at: now.monotonic)
                // A restarted recorder did not hear that such a stream ended cleanly.
                if stream.isLeftOut || stream.isOver { session.watch.passOver(stream.name) }
            }
            let time = session.seconds(at: now)
            tell(session.watch.check(at: now.monotonic, time: time, isListening: !isBehind), of: session, at: now)
            compareClocks(of: session, at: now)
        }
        for session in sessions.values where session.status > .starting && !session.status.isOver {
            publish(.current, of: session, at: now)
        }
        askForChangedLimits(at: now)
        tellOfWrongClocks()
        tellOfLag(at: now)
    }

    /// Takes the publishers' descriptions of a session's streams when it stops: sensors that failed by then failed in the
    /// session.
    func finishWatch(_ descriptions: [StreamDescription], of session: Session, at now: Moment) {
        let time = session.seconds(at: now)
        // A sensor that is merely stopped may have been stopped together with the session. A stream that was not heard of may
        // have continued.
        for description in descriptions where session.streams[description.name]?.isLeftOut == false {
            guard description.state == .failed || session.watch.isUnheard(description.name) else { continue }
            session.watch.take(description, at: now.monotonic, time: time)
        }
        tell(session.watch.finish(at: now.monotonic, time: time), of: session, at: now)
    }

    /// Notes, publishes and logs failures. Notes them all at once, because each note copies the session's record.
    private func tell(_ findings: [StreamWatch.Finding], of session: Session, at now: Moment) {
        if findings.isEmpty { return }
        session.note(failures: findings.filter(\.isFailure).map(\.sentence))
        for finding in findings {
            if finding.isRecovery {
                log(.notice, "\(finding.sentence)", session, ["stream": "\(finding.stream)"])
            } else if finding.isNew {
                log(
                    .error, "a sensor failed", session,
                    ["stream": "\(finding.stream)", LogKey.error: "\(finding.sentence)"])
                publish(.failure, of: session, at: now, stream: finding.stream, reason: finding.sentence)
            }
        }
    }

    // MARK: Clocks

    /// Notes and logs how far the wall clock was set.
    func noteClock(of session: Session, at now: Moment) {
        guard let set = session.noteClock(at: now) else { return }
        log(.warning, "this machine's clock was set", session, ["seconds": "\(set)"])
    }

    /// Compares the clocks of those of a session's publishers for which it is time.
    private func compareClocks(of session: Session, at now: Moment) {
        let age = Int64(nanosecondsIn: session.seconds(at: now))
        let interval = max(Self.comparisonInterval.nanoseconds, age / 50)
        let due = session.publishers.filter { endpoint in
            session.comparedAt[endpoint].map { now.monotonic - $0 >= interval } ?? true
        }
        if due.isEmpty { return }
        for endpoint in due { session.comparedAt[endpoint] = now.monotonic }
        emit(.compareClocks(session.identifier, at: due, isLast: false))
    }

    /// Takes comparisons of publishers' clocks with this machine's.
    package func compared(
        _ identifier: SessionIdentifier, _ comparisons: [ClockComparison], isLast: Bool, at now: Moment
    ) {
        guard let session = sessions[identifier] else { return }
        let placed = session.isRecording ? comparisons.map { session.clock.comparison($0, at: now) } : []
        session.note(placed)
        for comparison in placed {
            let isWrong = abs(comparison.offset) > Self.largestOffset + comparison.roundTrip
            wrongClocks[comparison.endpoint] = isWrong ? comparison.offset : nil
        }
        if isLast { endComparison(of: session, at: now) }
        advance(at: now)
    }

    /// Reports to health a clock so wrong that its samples seem to be of another time than their session.
    private func tellOfWrongClocks() {
        if wrongClocks.isEmpty { return emit(.clear("clock")) }
        let sources = sessions.values.filter { $0.status == .running }.map(\.publishers)
        wrongClocks = wrongClocks.filter { clock in sources.contains { $0.contains(clock.key) } }
        let wrong = wrongClocks.min { $0.key < $1.key }
        emit(
            wrong.map {
                .wrongClock(
                    of: $0.key, ahead: $0.value,
                    ", and its samples are dated by it: set the clock, and restart its publisher")
            } ?? .clear("clock"))
    }
}
