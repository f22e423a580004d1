import DequeModule
package import Files
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// Stores sessions, and makes their files durable, so that older parts of the write-ahead log can be deleted. One session at a
/// time.
extension Recordings {
    /// How often what could not be stored is tried again.
    private static let storeInterval = TimeSpan.seconds(5)
    /// Bytes of a segment of the write-ahead log that are read in vain rather than that it ends.
    private static let shortSegment = 4 << 20

    /// What is being stored.
    struct DocumentWork {
        /// A session's files on their way to being durable.
        struct Checkpoint {
            /// Where the files stand once everything before a position is written.
            let places: [StreamName: DurablePlace]
            let position: Int
        }

        enum Step {
            /// A checkpoint begins with the next commit.
            case marking
            /// Everything up to a block is to be in files.
            case writing(block: Int)
            case syncing
            /// What is stored must not be ahead of the write-ahead log: a block is to be durable first.
            case committing(SessionRecord, block: Int)
            case storing(SessionRecord)
        }

        let session: Session
        var step: Step
        /// When storing began, on the monotonic clock.
        var began: Int64 = 0
        var checkpoint: Checkpoint?
    }

    func advanceDocuments(at now: Moment) {
        if document == nil { beginDocument(at: now) }
        guard let work = document else { return }
        switch work.step {
        case .marking:
            guard commit == nil else { return }
            beginCommit(at: now)
            mark(work.session)
        case .writing(let block):
            guard writtenBlocks >= block else { return }
            document?.step = .syncing
            emit(.sync(work.session.identifier))
        case .committing(let record, let block):
            guard committedBlocks >= block else { return }
            guard work.session.isRecording else { return finishDocument(nil, at: now) }
            document?.step = .storing(record)
            emit(.store(record, work.session.directory))
        case .syncing, .storing: return
        }
    }

    /// Begins with the next session of which there is something to store.
    private func beginDocument(at now: Moment) {
        if isStoringDue, unlooked.isEmpty {
            isStoringDue = false
            unlooked.append(contentsOf: sessions.keys)
        }
        while document == nil, let identifier = unlooked.popFirst() {
            // What is on disk says that a session is starting until all of its logs are open.
            guard let session = sessions[identifier], session.isRecording, session.status > .starting else { continue }
            // What `session.json` says of the log must not be stored before the log has the places of files.
            document = DocumentWork(session: session, step: .marking)
            if session.isFromFiles || isClearing(session) || isCheckpointDue(for: session, at: now) {
                session.checkpointedAt = now.monotonic
            } else {
                store(at: now)
            }
        }
    }

    private func isCheckpointDue(for session: Session, at now: Moment) -> Bool {
        CheckpointPace.isDue(
            age: now.monotonic - session.checkpointedAt, pause: session.storePause,
            bytes: checkpointScale * (appender.position - session.written), streams: session.ordered.count,
            held: held.bytes)
    }

    /// Notes where a session's files will stand, now that everything was handed over and nothing after it is written.
    private func mark(_ session: Session) {
        let places = session.places
        // What is needed after a crash begins with a segment, unless that would be a short one.
        if appender.position - appender.segment >= Self.shortSegment { appender.beginSegment() }
        document?.checkpoint = DocumentWork.Checkpoint(places: places, position: appender.position)
        for stream in session.ordered { stream.holdOn() }
        demandedBlocks = lastBlock
        document?.step = .writing(block: lastBlock)
    }

    /// Takes the result of making a session's files durable.
    package func synced(_ identifier: SessionIdentifier, _ failure: RecordingError?, at now: Moment) {
        guard let work = document, work.session.identifier == identifier, case .syncing = work.step,
            let checkpoint = work.checkpoint
        else { return }
        if let failure {
            document = nil
            brokenFiles.insert(identifier)
            if sessions[identifier] === work.session { fail(work.session, failure, at: now) }
        } else {
            work.session.note(durable: checkpoint.places, before: checkpoint.position)
            store(at: now)
        }
        advance(at: now)
    }

    /// Has what is known of the session stored, if there is something new and it is time.
    private func store(at now: Moment) {
        guard let session = document?.session, session.isRecording,
            let record = session.takeStorable(at: now.monotonic)
        else { return finishCheckpoint() }
        document?.began = now.monotonic
        demandedBlocks = lastBlock
        document?.step = .committing(record, block: lastBlock)
    }

    /// Takes the result of storing a session.
    package func stored(_ failure: RecordingError?, at now: Moment) {
        guard let work = document, case .storing(let record) = work.step else { return }
        if let failure {
            finishDocument(nil, at: now)
            if sessions[work.session.identifier] === work.session { fail(work.session, failure, at: now) }
        } else {
            announceFiles(in: record, of: work.session)
            finishDocument(record, at: now)
        }
        advance(at: now)
    }

    private func finishDocument(_ stored: SessionRecord?, at now: Moment) {
        guard let work = document else { return }
        work.session.finishStoring(stored, began: work.began, at: now.monotonic)
        finishCheckpoint()
    }

    private func finishCheckpoint() {
        guard let work = document else { return }
        document = nil
        guard let checkpoint = work.checkpoint else { return }
        if work.session.isFromFiles, work.session.stored == checkpoint.position {
            work.session.isFromFiles = false
            emit(.removeJournal(work.session.directory))
        }
        removeLog()
    }

    /// Announces finished log files. `session.json` must list them first: a program that hears of a file may remove it.
    func announceFiles(in record: SessionRecord, of session: Session) {
        for log in record.logs {
            for (index, file) in log.files.enumerated().dropFirst(session.announced[log.name] ?? 0) {
                emit(
                    .publish(
                        SegmentFinished(
                            source: Program.recorder.rawValue, sequence: index, session: session.identifier.text,
                            log: log.name.text, path: session.directory.relativePath(of: file.name), bytes: file.bytes,
                            samples: file.samples, sha256: file.sha256)))
            }
            session.announced[log.name] = log.files.count
        }
    }

    // MARK: Time

    /// Does what depends on time alone. Once every `settings.syncInterval`.
    package func tick(at now: Moment) {
        for session in sessions.values {
            if let deadline = session.deadline, now.monotonic >= deadline, session.status == .running {
                session.awaitResults(at: now.monotonic)
                unstopped.append(session.identifier)
            }
            guard session.isRecording else { continue }
            for stream in session.ordered { stream.log.rotateIfExpired(at: now) }
        }
        areFilesDue = areFilesDue || areFilesBehind
        isStoringDue = true
        passTime(at: now)
        if now.monotonic >= storedAgainAt + Self.storeInterval.nanoseconds {
            storedAgainAt = now.monotonic
            storeAgain()
        }
        advance(at: now)
    }
}
