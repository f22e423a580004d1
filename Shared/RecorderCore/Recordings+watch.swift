import Logging
package import Messages
package import Recording
import ServiceKit

/// What is watched of publishers: which sensors fail, and how far their clocks are from this one's.
extension Recordings {
    /// How often sensors are looked at that may have failed, and clocks that may be compared.
    private static let watchInterval = TimeSpan.seconds(1)
    /// The first time after which clocks are compared again; later ones come with the session's age, so that a long
    /// session has no more comparisons than can be looked at.
    private static let comparisonInterval = TimeSpan.seconds(30)
    /// Seconds; less is for the report alone.
    private static let largestOffset = 1.0

    /// Looks at what only time can tell.
    func passTime(at now: Moment) {
        lag.pass(
            isBlocked: isBlocked, date: now.date.nanosecondsSince1970, allowance: clockAllowance, at: now.monotonic)
        guard now.monotonic >= watchedAt + Self.watchInterval.nanoseconds else { return }
        watchedAt = now.monotonic
        for session in sessions.values where session.status == .running {
            for stream in session.ordered {
                session.watch.note(samples: stream.log.record.counts.received, of: stream.name)
                stream.noteLeftOut(at: now.monotonic)
                // A recorder that was restarted did not hear of an end in good order.
                if stream.isLeftOut || stream.isOver { session.watch.passOver(stream.name) }
            }
            let time = session.seconds(of: now.date)
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

    /// Takes what publishers say of a session's streams when it stops: what failed by then belongs to it.
    func finishWatch(_ descriptions: [StreamDescription], of session: Session, at now: Moment) {
        let time = session.seconds(of: now.date)
        // One that is only stopped may have been stopped together with the session, and one that was not heard of may
        // have sampled on.
        for description in descriptions where session.streams[description.name]?.isLeftOut == false {
            guard description.state == .failed || session.watch.isUnheard(description.name) else { continue }
            session.watch.take(description, at: now.monotonic, time: time)
        }
        tell(session.watch.finish(at: now.monotonic, time: time), of: session, at: now)
    }

    /// Notes failures, and publishes and logs them. All at once: each note is a copy of the session's record.
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

    /// Has the clocks of a session's publishers compared, those that it is time for.
    private func compareClocks(of session: Session, at now: Moment) {
        let age = now.date.nanosecondsSince1970 - session.record.startDate.nanosecondsSince1970
        let interval = max(Self.comparisonInterval.nanoseconds, age / 50)
        let due = session.publishers.filter { endpoint in
            session.comparedAt[endpoint].map { now.monotonic - $0 >= interval } ?? true
        }
        if due.isEmpty { return }
        for endpoint in due { session.comparedAt[endpoint] = now.monotonic }
        emit(.compareClocks(session.identifier, at: due, isLast: false))
    }

    /// Takes comparisons of publishers' clocks with ours.
    package func compared(
        _ identifier: SessionIdentifier, _ comparisons: [ClockComparison], isLast: Bool, at now: Moment
    ) {
        guard let session = sessions[identifier] else { return }
        for comparison in comparisons where session.isRecording {
            session.note(comparison)
            let isWrong = abs(comparison.offset) > Self.largestOffset + comparison.roundTrip
            wrongClocks[comparison.endpoint] = isWrong ? comparison.offset : nil
        }
        if isLast { endComparison(of: session, at: now) }
        advance(at: now)
    }

    /// Has health tell of a clock that is so wrong that its samples seem to be of another time than their session.
    private func tellOfWrongClocks() {
        if wrongClocks.isEmpty { return emit(.clear("clock")) }
        let sources = sessions.values.filter { $0.status == .running }.map(\.publishers)
        wrongClocks = wrongClocks.filter { clock in sources.contains { $0.contains(clock.key) } }
        let wrong = wrongClocks.min { $0.key < $1.key }
        emit(
            wrong.map {
                .wrongClock(
                    of: $0.key, ahead: $0.value,
                    ", and its samples are placed by it: set the clock, and start its publisher anew")
            } ?? .clear("clock"))
    }
}
