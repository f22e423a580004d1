import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import SessionOverview
import ZeroMQ

/// Carries out the effects of `Recordings`.
extension RecordingEngine {
    enum Queue: Int, EffectQueueName {
        case log, files, syncs, documents, disposals, publishers, logManager, subscriptions, room, reports

        var order: EffectOrder {
            switch self {
            case .publishers: .atOnce
            case .logManager, .room: .newestOnly
            default: .inTurn
            }
        }
    }

    static func queue(of effect: Recordings.Effect) -> Queue? {
        switch effect {
        case .append, .removeLog: .log
        case .write, .writeDue, .rebuild, .forget: .files
        case .sync: .syncs
        case .store, .conclude, .removeJournal, .removeFiles: .documents
        case .dispose: .disposals
        case .recover, .list, .compareClocks: .publishers
        case .configure: .logManager
        case .unsubscribe: .subscriptions
        case .lookAtDisk: .room
        case .release, .restoreReserves, .ended, .notice: nil
        }
    }

    func carryOut(_ effect: Recordings.Effect) {
        switch effect {
        case .release(.samples): try? reserve.release()
        case .release(.ends): try? endReserve.release()
        case .restoreReserves: restoreReserves()
        case .ended(let report, let status):
            if !report.isWhole { runtime.loss.raise() }
            if settings.reports != nil {
                unwrittenReports += 1
                runtime.add(effect, to: .reports)
            }
            endedTotals.add(report)
            endedSessions[status, default: 0] += 1
        case .notice(let notice): runtime.tell(notice)
        default: return
        }
    }

    func carryOutQueued(_ effect: Recordings.Effect) async throws {
        switch effect {
        // The write-ahead log
        case .append(let block):
            core.appended(await log.attempt { (log) throws(RecordingError) in try log.append(block) }, at: now)
        case .removeLog(let position, let current):
            core.removedLog(await log.run { try? $0.remove(before: position, current: current) })
        // Stream files
        case .write(let block): core.wrote(await files.apply(block, at: now.monotonic), at: now)
        case .writeDue: core.wrote(await files.writeDue(at: now.monotonic), at: now)
        case .rebuild(let directory, let failures):
            let outcome = await files.finish(directory, log: logDirectory, failures: failures)
            core.rebuilt(directory.session, outcome, at: now)
        case .forget(let session): await files.forget(session)
        case .sync(let session): core.synced(session, await files.sync(session), at: now)
        // Documents
        case .store(let record, let directory):
            core.stored(await disk.attempt { () throws(RecordingError) in try directory.write(record) }, at: now)
        case .conclude(let record, let report, let directory):
            // A reader that finds a session to be over finds its report too. The checksums come last: without them, the next
            // start of the recorder tries to finish an incomplete end.
            let failure = await disk.attempt { () throws(RecordingError) in
                directory.removeUnfinishedFiles()
                try directory.write(report)
                try directory.write(record)
                try directory.writeChecksums(known: record.logs.flatMap(\.files))
            }
            core.concluded(record, failure, at: now)
        case .removeJournal(let directory): await disk.run { directory.removeJournal() }
        case .removeFiles(let directory, let files, let date):
            let outcome = await disk.run {
                Result { () throws(RecordingError) in
                    try directory.remove(files, reason: RemovedFile.ring, at: date)
                }
            }
            core.removedFiles(outcome, at: now)
        case .dispose(let step): await carryOut(step)
        case .lookAtDisk:
            lookAtDisk()
            await resumeRemaining()
        // Publishers and log-manager
        case .recover(let session, let stream):
            try await publishers.recover(
                SessionStream(engine: self, session: session, stream: stream), limit: settings.recoveryLimit.duration)
        case .list(let session, let patterns, let endpoints, let isHurried):
            let descriptions = await publishers.streams(
                patterns, at: endpoints, timeout: isHurried ? .seconds(1) : Self.listTimeout)
            core.listed(session, descriptions, at: now)
        case .compareClocks(let session, let endpoints, let isLast):
            core.compared(session, await publishers.clocks(at: endpoints, by: Self.clock), isLast: isLast, at: now)
        case .configure:
            let answers = await configurations(of: core.unknownLogs(at: now))
            core.configured(answers, at: now)
        case .unsubscribe(let patterns): await unsubscribe(from: patterns)
        case .ended(let report, _):
            await writePage(of: report.session)
            unwrittenReports -= 1
        case .release, .restoreReserves, .notice: return
        }
    }

    /// Writes the page of a session that is over, as `recorder report` does.
    private func writePage(of session: String) async {
        guard let reports = settings.reports else { return }
        let data = data
        let failure = await pages.attempt { () throws(RecordingError) in
            let page = try SessionPage.html(of: SessionDirectory.open(SessionIdentifier(session), in: data))
            let directory = Directory(reports)
            try directory.create()
            try directory.replace("\(session).html", with: Array(page.utf8))
        }
        guard let failure else { return }
        logger.error(
            "the report page of a session was not written; make it with recorder report",
            metadata: ["session": "\(session)", LogKey.error: "\(failure)"])
    }

    private func carryOut(_ step: Recordings.DisposalStep) async {
        let disposal = disposal
        switch step {
        case .look(let session, let name):
            let view = await disk.run { Result { () throws(RecordingError) in try disposal.view(session, name) } }
            core.viewed(view, at: now)
        case .retire(let session):
            let failure = await disk.attempt { () throws(RecordingError) in try disposal.retire(session) }
            if failure == nil { interrupted.removeAll { $0.directory.session == session } }
            core.disposed(failure, at: now)
        case .note(let line):
            core.disposed(await disk.attempt { () throws(RecordingError) in try disposal.note(line) }, at: now)
        case .erase(let name):
            core.disposed(await disk.attempt { () throws(RecordingError) in try disposal.erase(name) }, at: now)
        case .finish(let name):
            let failure = await disk.attempt { () throws(RecordingError) in try disposal.finish(name) }
            core.finished(name, failure, at: now)
        case .search(let date, let limit):
            let expired = await disk.run { [shard = settings.shard] in
                Result { () throws(RecordingError) in
                    try disposal.uploaded(before: date, shard: shard, limit: limit)
                }
            }
            core.foundExpired(expired, at: now)
        }
    }

    /// Asks log-manager how logs are to be written.
    /// - Returns: nil if there was nothing to ask.
    func configurations(of names: [LogName]) async -> LogConfigurations.Answers? {
        guard !names.isEmpty else { return nil }
        let wasAway = core.configurations.awaySince != nil
        let answers = await logManager.configurations(of: names)
        // The program is ending: this says nothing about log-manager.
        if Task.isCancelled { return nil }
        if answers.isAway, !wasAway {
            logger.info(
                "log-manager does not answer: stream files are written with the recording's settings and this program's defaults",
                metadata: ["endpoint": "\(logManager.endpoint)"])
        }
        return answers
    }
}
