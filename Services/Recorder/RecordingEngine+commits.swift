import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// What becomes durable: everything of all streams in one write and one sync, then the stream files behind it.
extension RecordingEngine {
    /// How often the room on the disk is looked at.
    private static let diskInterval = TimeSpan.seconds(1)
    /// How often sensors are looked at that may have failed.
    private static let watchInterval = TimeSpan.seconds(1)
    /// How often what could not be stored is tried again.
    private static let storeInterval = TimeSpan.seconds(5)
    /// Bytes that may be on their way into files. Beyond, nothing more is taken from the network.
    static let maximumBacklog = 64 << 20
    /// Bytes of a segment of the write-ahead log that are read in vain rather than that it ends.
    private static let shortSegment = 4 << 20

    /// Commits what arrives, until the task is cancelled.
    func commitRegularly() async throws {
        for await _ in uncommitted.raised {
            try await thread.sleep(until: pace.next(after: MonotonicClock.now))
            await commit()
        }
        throw CancellationError()
    }

    /// Does what is due by time, until the task is cancelled.
    func tickRegularly() async throws {
        let interval = settings.syncInterval.nanoseconds
        var tick = MonotonicClock.now
        while true {
            tick = max(tick + interval, MonotonicClock.now)
            try await thread.sleep(until: tick)
            let now = Moment.now
            for session in sessions.values {
                if let deadline = session.deadline, tick >= deadline, session.status == .running {
                    ordering.yield(.stop(session: session.identifier))
                }
                guard session.isRecording else { continue }
                for stream in session.ordered { stream.log.rotateIfExpired(at: now) }
            }
            if areFilesBehind { unwrittenSignal.raise() }
            if appender.count > 0 { uncommitted.raise() }
            storing.raise()
            lag.pass(
                isBlocked: isBlocked, date: now.date.nanosecondsSince1970, allowance: clockAllowance,
                at: now.monotonic)
            resumeWaits()
            if tick >= watchedAt + Self.watchInterval.nanoseconds {
                watchStreams(at: now)
                reportLag()
            }
            if tick >= lookedAtDisk + Self.diskInterval.nanoseconds {
                lookAtDisk()
                await resumeRemaining()
            }
        }
    }

    /// Makes everything durable that was written into the write-ahead log before.
    ///
    /// If that fails, sessions end: what they have goes into their files directly.
    /// - Parameter look: is called when all of that is handed over and nothing after it is written.
    func commit(_ look: () -> Void = {}) async {
        while isCommitting { await log.settle() }
        let taken = appender.takeBlock()
        look()
        guard let block = taken else { return }
        isCommitting = true
        backlogBytes += block.count
        let committing = sessions.values.map { session in
            defer { session.published = [] }
            return (session, session.published)
        }
        let began = MonotonicClock.now
        let failure = await log.append(block)
        let ended = MonotonicClock.now
        pace.note(began: began, ended: ended)
        commitTimes.record(nanoseconds: ended - began)
        unwritten.append(block)
        unwrittenSignal.raise()
        isCommitting = false
        if let failure { return noteLogFailure(failure) }
        let now = WallTime.now.nanosecondsSince1970
        for (session, published) in committing {
            for time in published {
                session.latencies.record(nanoseconds: now - time)
                latencies.record(nanoseconds: now - time)
            }
        }
        health.measure("commitLatencyMedianSeconds", Double(latencies.median) / 1e9)
        health.measure("commitLatency99PercentSeconds", Double(latencies.percentile99) / 1e9)
    }

    private func noteLogFailure(_ failure: RecordingError) {
        for session in Array(sessions.values) { fail(session, failure) }
        // The segment takes nothing more. What waits for the next commit belongs to it, so it goes there first.
        if let block = appender.takeBlock() {
            backlogBytes += block.count
            unwritten.append(block)
            unwrittenSignal.raise()
        }
        appender.beginSegment()
    }

    // MARK: Files

    /// Has files written behind the write-ahead log, until the task is cancelled.
    func writeFilesRegularly() async throws {
        for await _ in unwrittenSignal.raised { await writeFiles() }
        throw CancellationError()
    }

    private func writeFiles() async {
        if isWritingFiles { return }
        isWritingFiles = true
        while let block = unwritten.first {
            let outcome = await files.apply(block)
            unwritten.removeFirst()
            backlogBytes -= block.count
            appliedEnd = max(appliedEnd, block.end)
            take(outcome)
        }
        if areFilesBehind { take(await files.writeDue()) }
        isWritingFiles = false
    }

    /// Has blocks written into files, or waits until another task has written one.
    private func writeSome() async {
        if isWritingFiles { await files.settle() } else { await writeFiles() }
    }

    private func take(_ outcome: FileWriter.Outcome) {
        areFilesBehind = outcome.isBehind
        for finished in outcome.finished { sessions[finished.session]?.add(finished.file, to: finished.log) }
        if !outcome.finished.isEmpty { storing.raise() }
        for (identifier, error) in outcome.failures {
            if let session = sessions[identifier] { fail(session, error) }
        }
    }

    /// Waits until everything that was written into the write-ahead log before is in files, or can't be.
    func written() async {
        await commit()
        let end = appender.position
        while appliedEnd < end { await writeSome() }
    }

    /// Waits while too much is on its way into files.
    func waitForRoom() async {
        while backlogBytes + appender.count >= Self.maximumBacklog {
            await commit()
            await writeSome()
        }
    }

    // MARK: Documents

    /// Stores what sessions know, and makes their files durable now and then, until the task is cancelled.
    func storeRegularly() async throws {
        for await _ in storing.raised {
            for session in Array(sessions.values) where session.isRecording {
                // What `session.json` says of the log must not be stored before the log has the places of files.
                if session.isFromFiles || isCheckpointDue(for: session) {
                    await checkpoint(session)
                } else {
                    await store(session)
                }
            }
            if MonotonicClock.now >= storedAgain + Self.storeInterval.nanoseconds {
                storedAgain = MonotonicClock.now
                await storeAgain()
            }
        }
        throw CancellationError()
    }

    private func isCheckpointDue(for session: Session) -> Bool {
        CheckpointPace.isDue(
            age: MonotonicClock.now - session.checkpointedAt, pause: session.storePause,
            bytes: appender.position - session.written, streams: session.ordered.count, held: held.bytes)
    }

    /// Stores what a session knows, if there is something new and it is time.
    func store(_ session: Session) async {
        let began = MonotonicClock.now
        guard let record = session.takeStorable(at: began) else { return }
        var stored: SessionRecord?
        defer { session.finishStoring(stored, began: began, at: MonotonicClock.now) }
        // It must not be ahead of the write-ahead log.
        await commit()
        guard session.isRecording else { return }
        do {
            let directory = session.directory
            try await disk.run { try directory.write(record) }
            stored = record
            announceFiles(in: record, of: session)
        } catch {
            fail(session, error)
        }
    }

    /// Makes a session's files durable, so that the write-ahead log of before is not needed for it.
    func checkpoint(_ session: Session) async {
        session.checkpointedAt = MonotonicClock.now
        var places: [StreamName: DurablePlace] = [:]
        var position = 0
        await commit {
            places = session.places
            // What is needed after a crash begins with a segment, unless that would be a short one.
            if appender.position - appender.segment >= Self.shortSegment { appender.beginSegment() }
            position = appender.position
        }
        for stream in session.ordered { stream.holdOn() }
        await written()
        if let failure = await files.sync(session.identifier) { return fail(session, failure) }
        session.note(durable: places, before: position)
        await store(session)
        if session.isFromFiles, session.stored == position {
            session.isFromFiles = false
            session.directory.removeJournal()
        }
        await removeLog()
    }

    /// Deletes what of the write-ahead log no session needs.
    func removeLog() async {
        let needed = (sessions.values.map(\.stored) + unstored.values.map(\.stored) + interrupted.map(\.position)).min()
        if needed == nil, appender.count == 0, !isCommitting { appender.beginSegment() }
        let position = min(needed ?? .max, appliedEnd)
        if let left = await log.remove(before: position, current: appender.segment) { logBytes = left }
    }

    /// Publishes which log files are finished. Not before `session.json` lists them: a program that hears of a file may
    /// remove it.
    func announceFiles(in record: SessionRecord, of session: Session) {
        for log in record.logs {
            for (index, file) in log.files.enumerated().dropFirst(session.announced[log.name] ?? 0) {
                publish(
                    SegmentFinished(
                        source: Self.source, sequence: index, session: session.identifier.text, log: log.name.text,
                        path: session.directory.relativePath(of: file.name), bytes: file.bytes, samples: file.samples,
                        sha256: file.sha256))
            }
            session.announced[log.name] = log.files.count
        }
    }

    /// Looks how much room there is, ends sessions before there is none, and stores what found none before.
    func lookAtDisk() {
        lookedAtDisk = MonotonicClock.now
        freeBytes = try? Directory(data).freeBytes()
        if let freeBytes, freeBytes < settings.minimumFree {
            for session in sessions.values where session.status == .running {
                session.note(failures: ["stopped: \(tooLittleRoom(freeBytes))"])
                health.report(.degraded, "sessions were stopped: \(tooLittleRoom(freeBytes))", for: "disk")
                logger.error(
                    "recording stops",
                    metadata: ["session": "\(session.identifier)", LogKey.error: "\(tooLittleRoom(freeBytes))"])
                ordering.yield(.stop(session: session.identifier))
            }
        } else {
            health.clear("disk")
        }
        if sessions.isEmpty, unstored.isEmpty { restoreReserves() }
    }

    /// Why nothing is recorded any more.
    func tooLittleRoom(_ freeBytes: Int) -> String {
        "the disk has \(ByteCount(bytes: freeBytes)) free, less than --minimum-free "
            + "\(ByteCount(bytes: settings.minimumFree)) leaves; free some space and start a new recording"
    }
}
