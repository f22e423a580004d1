import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// What remains of sessions whose stream files were removed. It is removed last, because only it says what became of the
/// files.
///
/// A session is retired first: no program finds it any more. Its removal is published, and only then is it erased. If the
/// program is killed in between, the next comparison finds what was retired and continues with the event.
extension StreamFiles {
    /// How many sessions are retired at once.
    private static let remainsAtOnce = 100

    /// Bytes of all sessions that are over, without their stream files.
    package var remainingBytes: Int { remains.values.reduce(0) { $0 + $1.bytes } }

    /// Notes what a comparison found of a session.
    func note(_ found: SessionRemains?, of session: SessionIdentifier) {
        remains[session] = found
        keptRemains.remove(session)
    }

    /// Has what remains of sessions retired, by name, if they have no stream file any more and may go.
    /// - Returns: whether there are any.
    func retireRemains() -> Bool {
        let sessions = remains.filter { $0.value.files == 0 && !keptRemains.contains($0.key) }.keys.sorted()
        if sessions.isEmpty { return false }
        emit(
            .retireRemains(
                Array(sessions.prefix(Self.remainsAtOnce)), onlyUploaded: settings.whenFull != .oldest))
        return true
    }

    /// Takes what came of retiring sessions.
    package func retiredRemains(_ outcomes: [(session: SessionIdentifier, outcome: RemainsOutcome)], at now: Moment) {
        guard case .retiringRemains = cleanUp else { return }
        var retired: [(session: SessionIdentifier, bytes: Int?)] = []
        for (session, outcome) in outcomes {
            switch outcome {
            case .retired(let bytes):
                retired.append((session, bytes))
                // One of this name that was published is gone.
                publishedRemains.remove(session)
                wantComparison(of: session)
            case .kept(let reason):
                keptRemains.insert(session)
                if let reason {
                    log(.warning, "session not removed", ["session": "\(session)", LogKey.error: "\(reason)"])
                }
            }
        }
        if retired.isEmpty {
            // Sessions that are kept are passed over by the next round.
            judgeRemains(isStuck: true)
        } else {
            cleanUp = .erasingRemains(isStuck: true)
            erase(retired, at: now)
        }
        advance(at: now)
    }

    /// Has erased what was retired of sessions, with its bytes if they are known, once that is published.
    func erase(_ retired: [(session: SessionIdentifier, bytes: Int?)], at now: Moment) {
        let new = retired.filter { !erasingRemains.contains($0.session) }
        if new.isEmpty { return }
        for (session, bytes) in new where publishedRemains.insert(session).inserted {
            publishRemoval(of: session, bytes: bytes, at: now)
        }
        erasingRemains.formUnion(new.map(\.session))
        emit(.eraseRemains(new.map(\.session)))
    }

    /// Takes why sessions could not be erased; nil for those that were.
    package func erasedRemains(_ failures: [(session: SessionIdentifier, failure: String?)], at now: Moment) {
        for (session, failure) in failures {
            erasingRemains.remove(session)
            if let failure {
                // The next comparison finds it again.
                log(.warning, "session not removed", ["session": "\(session)", LogKey.error: "\(failure)"])
            } else {
                publishedRemains.remove(session)
                if case .erasingRemains = cleanUp { cleanUp = .erasingRemains(isStuck: false) }
            }
        }
        if case .erasingRemains(let isStuck) = cleanUp, erasingRemains.isEmpty { judgeRemains(isStuck: isStuck) }
        advance(at: now)
    }

    private func judgeRemains(isStuck: Bool) {
        cleanUp = .judging(isStuck: isStuck)
        emit(.lookAtDisk)
    }

    private func publishRemoval(of session: SessionIdentifier, bytes: Int?, at now: Moment) {
        remains[session] = nil
        let path = "\(SessionDirectory.recordingsName)/\(session)"
        log(.info, "session removed", ["path": "\(path)", "reason": "\(RemovalReason.whenFull.rawValue)"])
        publish(
            .removed, of: LogFileEvent.allLogs, at: now, path: path, bytes: bytes,
            reason: RemovalReason.whenFull.rawValue)
    }
}

/// What came of retiring what remains of a session.
package enum RemainsOutcome: Hashable, Sendable {
    case retired(bytes: Int)
    /// It has files, is not over, or was not uploaded as a whole. With a reason only if something is wrong.
    case kept(String?)
}
