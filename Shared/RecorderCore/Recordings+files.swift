package import Messages
import Recording

/// Files that are finished on request.
extension Recordings {
    /// A file that is being finished.
    package struct FileFinish {
        private let session: Session
        private let log: StreamLog
        /// Which of the log's files it is.
        private let index: Int

        init(_ session: Session, _ log: StreamLog, index: Int) {
            self.session = session
            self.log = log
            self.index = index
        }

        /// Whether `session.json` lists the file, or the session no longer records.
        package var isOver: Bool { (session.announced[log.name] ?? 0) > index || !session.isRecording }

        /// The file's path under the data directory; nil while it is not finished.
        package var path: String? {
            let files = log.record.files
            return files.indices.contains(index) ? session.directory.relativePath(of: files[index].name) : nil
        }
    }

    /// Finishes the files of logs, and begins new ones.
    /// - Throws: `unknownSession` or `unknownLog` if the request matches nothing that is being recorded, `invalidParameter` if
    ///   its name can't match a log.
    package func finishFiles(_ request: LogsFinish, at now: Moment) throws(RequestError) -> [FileFinish] {
        let pattern = try request.name.map { name throws(RequestError) in
            if let pattern = LogPattern(name) { return pattern }
            throw RequestError(
                .invalidParameter,
                "'\(name)' can't be a log's name: write it as its files are named, left-wrist_accelerometer say, or a pattern: left-*"
            )
        }
        let running = sessions.values.filter { $0.status == .running }
        let meant = running.filter { request.session == nil || $0.identifier.text == request.session }
        if let session = request.session, meant.isEmpty {
            throw RequestError(.unknownSession, "no session '\(session)' is being recorded")
        }
        let logs = meant.flatMap { session in
            session.ordered.filter { pattern?.matches($0.log.name) ?? true }.map { (session, $0.log) }
        }
        if let pattern, logs.isEmpty {
            throw RequestError(
                .unknownLog, "no log '\(pattern)' is being recorded; recording.status lists a session's logs")
        }
        var files: [FileFinish] = []
        for (session, log) in logs {
            guard let index = log.rotate(at: now) else { continue }
            files.append(FileFinish(session, log, index: index))
            session.storeOnceFinished(log.name)
        }
        isStoringDue = true
        advance(at: now)
        return files
    }
}
