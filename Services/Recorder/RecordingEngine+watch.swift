import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// Sensors that fail while they are recorded.
extension RecordingEngine {
    /// Looks for streams that fell silent, and reports those that failed.
    func watchStreams() {
        watchedAt = MonotonicClock.now
        for session in sessions.values where session.status == .running {
            for stream in session.ordered {
                session.watch.note(samples: stream.log.record.counts.received, of: stream.name)
            }
            tell(
                session.watch.check(at: watchedAt, time: session.seconds(of: .now), isListening: !isBehind),
                of: session)
        }
    }

    /// Takes what publishers say of a session's streams when it stops: what failed by then belongs to it.
    func finishWatch(_ descriptions: [StreamDescription], of session: Session) {
        let (now, time) = (MonotonicClock.now, session.seconds(of: .now))
        // One that is only stopped may have been stopped together with the session, and one that was not heard of may
        // have sampled on.
        for description in descriptions where session.streams[description.name] != nil {
            guard description.state == .failed || session.watch.isUnheard(description.name) else { continue }
            session.watch.take(description, at: now, time: time)
        }
        tell(session.watch.finish(at: now, time: time), of: session)
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
}
