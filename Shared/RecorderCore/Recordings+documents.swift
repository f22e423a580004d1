import DequeModule
package import Files
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// Stores sessions' records, and makes their files durable, so that older parts of the write-ahead log can be deleted. One
/// session at a time.
extension Recordings {
    /// How often failed stores are retried.
    private static let storeInterval = TimeSpan.seconds(5)
    /// Bytes. At a checkpoint, a shorter segment of the write-ahead log continues, although a recovery then reads it in vain.
    private static let shortSegment = 4 << 20

    /// The session that is being stored, and the stage of that.
    struct DocumentWork {
        /// A session's files on their way to being durable.
        struct Checkpoint {
            /// Where the files stand once everything before `position` is written.
            let places: [StreamName: DurablePlace]
            let position: Int
        }

        enum Step {
            /// A checkpoint begins with the next commit.
            case marking
            /// Waits until everything up to a block is in files.
            case writing(block: Int)
            case syncing
            /// The stored record must not be ahead of the write-ahead log: waits until a block is durable.
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
            guard isStorable(work.session) else { return finishDocument(nil, at: now) }
            document?.step = .storing(record)
            emit(.store(record, work.session.directory))
        case .syncing, .storing: return
        }
    }

    /// Begins with the next session that has something to store.
    private func beginDocument(at now: Moment) {
        if isStoringDue, unlooked.isEmpty {
            isStoringDue = false
            unlooked.append(contentsOf: sessions.keys)
        }
        while document == nil, let identifier = unlooked.popFirst() {
            // On disk, a session is starting until all of its logs are open.
            guard let session = sessions[identifier], isStorable(session), session.status > .starting else { continue }
            // The places of the files must be known before `session.json` states from where it needs the write-ahead log.
            document = DocumentWork(session: session, step: .marking)
            if session.isFromFiles || isClearing(session) || isCheckpointDue(for: session, at: now) {
                session.checkpointedAt = now.monotonic
            } else {
                store(at: now)
            }
        }
    }

    /// Whether a session's record may be stored. Without that, a session that only waits for results would keep the
    /// write-ahead log of all sessions.
    private func isStorable(_ session: Session) -> Bool {
        session.isRecording || session.status == .processingResults && isLeftToNextStart(session.identifier)
    }

    private func isCheckpointDue(for session: Session, at now: Moment) -> Bool {
        // Nothing is left to be written.
        if !session.isRecording, appender.position == session.written { return false }
        return CheckpointPace.isDue(
            age: now.monotonic - session.checkpointedAt, pause: session.storePause,
            bytes: checkpointScale * (appender.position - session.written), streams: session.ordered.count,
            held: held.bytes)
    }

    /// Notes where a session's files will stand once all data handed over so far is written, and nothing after it.
    private func mark(_ session: Session) {
        let places = session.places
        // Data needed after a crash then begins with a segment, unless the previous segment would be short.
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

    /// Stores the session's record if it has changed and may be stored again.
    private func store(at now: Moment) {
        guard let session = document?.session, isStorable(session),
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
            // A session that only waits for results has all of its samples: its end is stored with retries.
            if sessions[work.session.identifier] === work.session, work.session.isRecording {
                fail(work.session, failure, at: now)
            }
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

    /// Announces finished stream files. `session.json` must list them first, because a program that learns of a file may remove
    /// it.
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

    /// Does the work that depends on time alone. Call it every `settings.syncInterval`.
    package func tick(at now: Moment) {
        for session in sessions.values {
            if let deadline = session.deadline, now.elapsed >= deadline, session.status == .running {
                session.awaitResults(at: now)
                unstopped.append(session.identifier)
            }
            guard session.isRecording else { continue }
            for stream in session.ordered {
                stream.log.noteDate(now.date)
                stream.log.rotateIfExpired(at: now)
                // If no description of a run comes in time, the publisher of the run before it is asked.
                recover(stream, of: session, at: now)
            }
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
