import DequeModule
package import Files
package import Messages
package import Recording
import ServiceKit

/// How data becomes durable: everything of all streams in one write and one sync, then the stream files behind it.
extension Recordings {
    /// A block that is being made durable.
    struct Commit {
        let block: LogBlock
        /// On the monotonic clock.
        let began: Int64
        /// For each session, when its batches in the block were published, in nanoseconds since 1970.
        let published: [(session: Session, times: [Int64])]
    }

    /// The work on stream files that is under way.
    enum FileWork { case block, due }

    /// Whether arriving batches may soon have to wait for the disk.
    package var isBlocked: Bool { backlogBytes + appender.count > Self.maximumBacklog / 2 }

    /// Whether no more batches may be taken: too much data is on its way into files.
    package var isFull: Bool { backlogBytes + appender.count >= Self.maximumBacklog }

    /// Whether data waits that is not in the commit under way.
    package var hasUncommitted: Bool { appender.count > 0 }

    /// The number of the block that ends with the data written so far.
    var lastBlock: Int { takenBlocks + (appender.count > 0 ? 1 : 0) }

    /// Commits everything that was written so far, without waiting for more.
    /// - Returns: the block to pass to `isCommitted`.
    @discardableResult
    package func commitNow(at now: Moment) -> Int {
        demandedBlocks = lastBlock
        advance(at: now)
        return demandedBlocks
    }

    /// Whether the commit of a block has ended. If it failed, its sessions have failed too.
    package func isCommitted(_ block: Int) -> Bool { committedBlocks >= block }

    /// Begins a commit if it is time, or plans it.
    func advanceCommits(at now: Moment) {
        guard commit == nil, appender.count > 0 else { return }
        if demandedBlocks > takenBlocks || commitAt.map({ now.monotonic >= $0 }) ?? false {
            return beginCommit(at: now)
        }
        guard commitAt == nil else { return }
        commitAt = pace.next(after: now.monotonic)
    }

    /// Begins a commit of the data written so far.
    func beginCommit(at now: Moment) {
        commitAt = nil
        guard let block = appender.takeBlock() else { return }
        takenBlocks += 1
        beginClearSegment()
        backlogBytes += block.count
        let published = sessions.values.map { session in
            defer { session.published = [] }
            return (session, session.published)
        }
        commit = Commit(block: block, began: now.monotonic, published: published)
        emit(.append(block))
    }

    /// Takes the result of a commit. If it failed, all sessions fail, and their data goes into their files directly.
    package func appended(_ failure: RecordingError?, at now: Moment) {
        guard let commit else { return }
        self.commit = nil
        pace.note(began: commit.began, ended: now.monotonic)
        commitTimes.record(nanoseconds: now.monotonic - commit.began)
        unwritten.append(commit.block)
        committedBlocks = takenBlocks
        if let failure {
            noteLogFailure(failure, at: now)
        } else {
            committedEnd = commit.block.end
            for (session, times) in commit.published {
                for time in times {
                    let latency = now.date.nanosecondsSince1970 - time
                    session.latencies.record(nanoseconds: latency)
                    latencies.record(nanoseconds: latency)
                }
            }
        }
        advance(at: now)
    }

    private func noteLogFailure(_ failure: RecordingError, at now: Moment) {
        for session in Array(sessions.values) { fail(session, failure, at: now) }
        // The segment takes no more data. The data waiting for the next commit belongs to that segment, so hand it to the files
        // first.
        if let block = appender.takeBlock() {
            takenBlocks += 1
            committedBlocks = takenBlocks
            backlogBytes += block.count
            unwritten.append(block)
            commitAt = nil
        }
        appender.beginSegment()
        // The log did not take the records of these failures, and they must survive a crash.
        for session in sessions.values { session.noteAgain() }
    }

    // MARK: Files

    func advanceFiles() {
        guard fileWork == nil else { return }
        if let block = unwritten.first {
            fileWork = .block
            emit(.write(block))
        } else if areFilesDue {
            areFilesDue = false
            fileWork = .due
            emit(.writeDue)
        }
    }

    /// Takes the result of writing into files.
    package func wrote(_ outcome: SessionFiles.Outcome, at now: Moment) {
        if fileWork == .block, let block = unwritten.popFirst() {
            writtenBlocks += 1
            backlogBytes -= block.count
            writtenEnd = max(writtenEnd, block.end)
            areFilesDue = outcome.isBehind
        }
        fileWork = nil
        areFilesBehind = outcome.isBehind
        for finished in outcome.finished { sessions[finished.session]?.add(finished.file, to: finished.log) }
        if !outcome.finished.isEmpty { isStoringDue = true }
        for (identifier, error) in outcome.failures {
            brokenFiles.insert(identifier)
            if let session = sessions[identifier] { fail(session, error, at: now) }
        }
        advance(at: now)
    }

    // MARK: Log

    /// Deletes the part of the write-ahead log that no session needs.
    func removeLog() {
        let needed = neededLog
        if needed == nil, appender.count == 0, commit == nil { appender.beginSegment() }
        logRemovals += 1
        emit(.removeLog(before: min(needed ?? .max, writtenEnd), current: appender.segment))
    }

    /// The position from which sessions need the write-ahead log; nil if none needs it.
    var neededLog: Int? {
        let unstored = unstored.values.filter { !removedSessions.contains($0.identifier) }
        let stored = sessions.values.map(\.stored) + unstored.map(\.stored)
        return (stored + Array(starting.values) + interrupted + leftToNextStart).min()
    }

    /// - Parameter left: bytes left of the write-ahead log; nil if unknown.
    package func removedLog(_ left: Int?) {
        logRemovals -= 1
        logBytes = left ?? logBytes
        cleared(left)
    }
}
