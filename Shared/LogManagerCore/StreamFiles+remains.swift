import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Removes the remains of sessions whose stream files were removed. They are removed last, because only they record what happened
/// to the files.
///
/// A session is first retired: its directory is renamed, and no program finds it any more. Its removal is then published, and
/// only then is it erased. If the program is killed in between, the next comparison finds the retired session and continues with
/// the event.
extension StreamFiles {
    /// How many sessions are retired at once.
    private static let remainsAtOnce = 100

    /// Bytes of all sessions that are over, without their stream files.
    package var remainingBytes: Int { remains.values.reduce(0) { $0 + $1.bytes } }

    /// Notes the remains that a comparison of a session found.
    func note(_ found: SessionRemains?, of session: SessionIdentifier) {
        remains[session] = found
        keptRemains.remove(session)
    }

    /// Retires, by name, the sessions that have no stream files any more and may be removed.
    /// - Returns: whether there are any.
    func retireRemains() -> Bool {
        guard let sessions = removableSessions(without: []).first else { return false }
        emit(.retireRemains(sessions, onlyUploaded: settings.whenFull != .oldest))
        return true
    }

    /// The sessions that have no stream files any more and may be removed, by name, in the groups in which they are
    /// retired.
    /// - Parameter files: stream files that count as removed.
    func removableSessions(without files: [CatalogFile]) -> [[SessionIdentifier]] {
        let removed = Dictionary(grouping: files, by: \.session)
        let sessions = remains.filter { session, remains in
            remains.files == removed[session]?.count ?? 0 && !keptRemains.contains(session)
        }
        return sessions.keys.sorted().batches(of: Self.remainsAtOnce).map { Array($0) }
    }

    /// Takes the outcome of retiring sessions.
    package func retiredRemains(_ outcomes: [(session: SessionIdentifier, outcome: RemainsOutcome)], at now: Moment) {
        guard case .retiringRemains = cleanUp else { return }
        var retired: [(session: SessionIdentifier, bytes: Int?)] = []
        for (session, outcome) in outcomes {
            switch outcome {
            case .retired(let bytes):
                retired.append((session, bytes))
                freedSpace?.removed += bytes
                // An earlier session of this name, whose removal was published, is gone.
                publishedRemains.remove(session)
                wantComparison(of: session)
            case .gone:
                remains[session] = nil
                wantComparison(of: session)
            case .kept(let reason):
                keptRemains.insert(session)
                if let reason {
                    log(.warning, "session not removed", ["session": "\(session)", LogKey.error: "\(reason)"])
                }
            }
        }
        if retired.isEmpty {
            // The next round skips the sessions that are kept.
            judgeRemains(isStuck: true, at: now)
        } else {
            cleanUp = .erasingRemains(isStuck: true)
            erase(retired, at: now)
        }
        advance(at: now)
    }

    /// Publishes the removal of retired sessions, then erases them; `bytes` is nil if unknown.
    func erase(_ retired: [(session: SessionIdentifier, bytes: Int?)], at now: Moment) {
        let new = retired.filter { !erasingRemains.contains($0.session) }
        if new.isEmpty { return }
        for (session, bytes) in new where publishedRemains.insert(session).inserted {
            publishRemoval(of: session, bytes: bytes, at: now)
        }
        erasingRemains.formUnion(new.map(\.session))
        emit(.eraseRemains(new.map(\.session)))
    }

    /// Takes the reasons why sessions could not be erased; nil for erased sessions.
    package func erasedRemains(_ failures: [(session: SessionIdentifier, failure: String?)], at now: Moment) {
        for (session, failure) in failures {
            erasingRemains.remove(session)
            if let failure {
                // The next comparison finds the session again.
                log(.warning, "session not removed", ["session": "\(session)", LogKey.error: "\(failure)"])
            } else {
                publishedRemains.remove(session)
                if case .erasingRemains = cleanUp { cleanUp = .erasingRemains(isStuck: false) }
            }
        }
        if case .erasingRemains(let isStuck) = cleanUp, erasingRemains.isEmpty {
            judgeRemains(isStuck: isStuck, at: now)
        }
        advance(at: now)
    }

    private func judgeRemains(isStuck: Bool, at now: Moment) {
        if !isStuck, let freedSpace, freedSpace.removed >= bytesToFree { awaitSpace(at: now) }
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

/// The outcome of retiring a session.
package enum RemainsOutcome: Hashable, Sendable {
    case retired(bytes: Int)
    /// The session does not exist any more: another program removed it, for example because it was discarded.
    case gone
    /// The session has files, is not over, or was not uploaded completely. A reason is given only if something is wrong.
    case kept(String?)
}
