import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// What remains of sessions whose stream files were removed. It is removed last, because only it says what became of the
/// files.
extension StreamFiles {
    /// How many sessions are removed at once.
    private static let remainsAtOnce = 100

    /// Bytes of all sessions that are over, without their stream files.
    package var remainingBytes: Int { remains.values.reduce(0) { $0 + $1.bytes } }

    /// Notes what a comparison found of a session.
    func note(_ found: SessionRemains?, of session: SessionIdentifier) {
        remains[session] = found
        keptRemains.remove(session)
    }

    /// Has what remains of sessions removed, by name, if they have no stream file any more and may go.
    /// - Returns: whether there are any.
    func removeRemains() -> Bool {
        let sessions = remains.filter { $0.value.files == 0 && !keptRemains.contains($0.key) }.keys.sorted()
        if sessions.isEmpty { return false }
        emit(
            .removeRemains(
                Array(sessions.prefix(Self.remainsAtOnce)), onlyUploaded: settings.whenFull != .oldest))
        return true
    }

    /// Takes what came of removing sessions.
    package func removedRemains(_ outcomes: [(session: SessionIdentifier, outcome: RemainsOutcome)], at now: Moment) {
        guard case .removingRemains = cleanUp else { return }
        var isStuck = true
        for (session, outcome) in outcomes {
            switch outcome {
            case .removed(let bytes):
                isStuck = false
                noteRemoved(session, bytes: bytes, at: now)
                wantComparison(of: session)
            case .kept(let reason):
                keptRemains.insert(session)
                if let reason {
                    log(.warning, "session not removed", ["session": "\(session)", LogKey.error: "\(reason)"])
                }
            }
        }
        // Sessions that are kept are passed over by the next round.
        cleanUp = .judging(isStuck: isStuck)
        emit(.lookAtDisk)
        advance(at: now)
    }

    func noteRemoved(_ session: SessionIdentifier, bytes: Int?, at now: Moment) {
        remains[session] = nil
        let path = "\(SessionDirectory.recordingsName)/\(session)"
        log(.info, "session removed", ["path": "\(path)", "reason": "\(RemovalReason.whenFull.rawValue)"])
        publish(
            .removed, of: LogFileEvent.allLogs, at: now, path: path, bytes: bytes,
            reason: RemovalReason.whenFull.rawValue)
    }
}

/// What came of removing what remains of a session.
package enum RemainsOutcome: Hashable, Sendable {
    case removed(bytes: Int)
    /// It has files, is not over, or was not uploaded as a whole. With a reason only if something is wrong.
    case kept(String?)
}
