package import Files
import Logging
package import Messages
import Recording
import ServiceKit

/// Sessions that record continuously: their old files are removed while they run.
///
/// As in log-manager, a line in the session's `removed.ndjson` precedes each removal. An interrupted removal is repeated.
/// Requests to keep files are decided here too, so no file is removed after it was reported as kept.
extension Recordings {
    /// How often old files are searched for.
    private static let ringInterval = TimeSpan.seconds(1)
    /// Most files that are removed together.
    private static let maximumRemoved = 256

    /// Files of a session on their way to being removed.
    struct RingRemoval {
        let session: SessionIdentifier
        let files: [LogName: [FinishedFile]]
        let date: WallTime
    }

    /// Removes old files of the next session that has some. One session at a time.
    func advanceRings(at now: Moment) {
        guard ringRemoval == nil, now.monotonic >= ringAt else { return }
        for session in sessions.values where session.status == .running && session.record.limits.keep != nil {
            let files = session.expiredFiles(limit: Self.maximumRemoved, at: now)
            if files.isEmpty { continue }
            ringRemoval = RingRemoval(session: session.identifier, files: files, date: now.date)
            return emit(.removeFiles(session.directory, files.values.flatMap(\.self), at: now.date))
        }
        ringAt = now.monotonic + Self.ringInterval.nanoseconds
    }

    /// Takes the result of removing files.
    /// - Parameter outcome: for each file that stays, the reason, by the file's name.
    package func removedFiles(_ outcome: Result<[String: String], RecordingError>, at now: Moment) {
        guard let removal = ringRemoval else { return }
        ringRemoval = nil
        switch outcome {
        case .failure(let error):
            // The removal is retried. Freeing reserved space lets samples in memory be written.
            if error.code == .noSpace { emit(.release(.samples)) }
            ringAt = now.monotonic + Self.ringInterval.nanoseconds
            emit(.degraded("old files of session \(removal.session) could not be removed: \(error)", for: "ring"))
        case .success(let refused):
            emit(
                .warn(
                    refused.min { $0.key < $1.key }.map {
                        "\($0.key) of session \(removal.session) is old and was not removed: \($0.value)"
                    }, for: "ring"))
            if let session = sessions[removal.session] {
                announceRemoval(removal, refused: refused, of: session)
            }
        }
        advance(at: now)
    }

    private func announceRemoval(_ removal: RingRemoval, refused: [String: String], of session: Session) {
        for (name, reason) in refused {
            log(.warning, "an old file was not removed", session, ["file": "\(name)", LogKey.error: "\(reason)"])
        }
        for (name, file, index) in session.noteRemoval(of: removal.files, refused: refused, at: removal.date) {
            let path = session.directory.relativePath(of: file.name)
            log(.info, "file removed", session, ["path": "\(path)", "reason": "\(RemovedFile.ring)"])
            emit(
                .publish(
                    LogFileEvent(
                        source: Program.recorder.rawValue, sequence: index, name: name.text, change: .removed,
                        date: removal.date, path: path, bytes: file.bytes, reason: RemovedFile.ring)))
        }
    }

    /// Whether a file is being removed.
    func isBeingRemoved(_ file: FinishedFile, of session: Session) -> Bool {
        guard let removal = ringRemoval, removal.session == session.identifier else { return false }
        return removal.files.values.contains { $0.contains { $0.name == file.name } }
    }

    /// Keeps the files of a time range from removal by the session's ring. Answer the request only once this is committed.
    ///
    /// If the wall clock was set, the request's times may be the wall clock's or the session's: files of both are kept.
    package func keep(_ request: RecordingKeep, in session: Session, at now: Moment) throws(RequestError)
        -> RecordingKeep.Reply
    {
        let (start, date) = (session.record.startDate, session.clock.date(at: now))
        let asked = KeptTime(from: request.from ?? start, to: request.to ?? max(now.date, date))
        var times = [asked]
        let ahead = session.clock.ahead(at: now)
        if ahead != 0 {
            let moved = KeptTime(
                from: request.from?.subtracting(ahead) ?? start, to: request.to?.subtracting(ahead) ?? date)
            times.insert(moved, at: 0)
        }
        times.removeAll { $0.from > $0.to }
        var whole: KeptTime?
        for time in times { whole = try session.keep(time) }
        guard let kept = whole else {
            throw RequestError(
                .invalidParameter, "from is \(asked.from.utcText), which is later than to, \(asked.to.utcText)")
        }
        func isLeft(_ file: FinishedFile) -> Bool { file.removed == nil && !isBeingRemoved(file, of: session) }
        // One of two times is by the wrong clock: that its files are removed is no loss.
        let met = times.filter { session.files(of: [$0]).contains(where: isLeft) }
        let files = session.files(of: met.isEmpty ? times : met)
        let (gone, left) = (files.filter { !isLeft($0) }, files.filter(isLeft))
        func paths(_ files: [FinishedFile]) -> [String] {
            files.map { session.directory.relativePath(of: $0.name) }.sorted()
        }
        return RecordingKeep.Reply(
            session: session.identifier.text, from: kept.from, to: kept.to, files: paths(left),
            removed: gone.isEmpty ? nil : paths(gone))
    }
}
