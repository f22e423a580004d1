import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// Carries out the effects of `Recordings`. Work that takes time goes into a queue for its kind, and each queue has one task.
extension RecordingEngine {
    /// Carries out the effects. Call it after every call of the core.
    func perform() {
        for effect in core.takeEffects() { perform(effect) }
        resumeWaits()
    }

    private func perform(_ effect: Recordings.Effect) {
        switch effect {
        case .append, .removeLog: queues.log.add(effect)
        case .write, .writeDue, .rebuild, .forget: queues.files.add(effect)
        case .sync: queues.syncs.add(effect)
        case .store, .conclude, .removeJournal: queues.documents.add(effect)
        case .recover, .list, .compareClocks: queues.publishers.add(effect)
        case .configure: queues.logManager.add(effect)
        case .unsubscribe: queues.subscriptions.add(effect)
        case .wake: queues.wakes.add(effect)
        case .release(.samples): try? reserve.release()
        case .release(.ends): try? endReserve.release()
        case .restoreReserves: restoreReserves()
        case .publish, .announce: queues.events.add(effect)
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .degraded(let sentence, let key): health.report(.degraded, sentence, for: key)
        case .well(let key): health.clear(key)
        case .wrongClock(let endpoint, let seconds):
            health.reportClock(
                of: endpoint, ahead: seconds,
                ", and its samples are placed by it: set the clock, and start its publisher anew")
        case .malformed(let error): malformed.note(error)
        case .ended(let report, let status):
            if !report.isWhole { loss.raise() }
            endedTotals.add(report)
            endedSessions[status, default: 0] += 1
        }
    }

    // MARK: Events

    /// Publishes events, not on the engine's thread: the end of a session of a thousand streams announces a thousand files, and
    /// no sample may wait for that.
    nonisolated func carryOutEvents() async throws {
        try await queues.events.forEach { effect in
            switch effect {
            case .publish(let event): publish(event)
            case .announce(let event): publish(event)
            default: return
            }
        }
    }

    /// Publishes an event. One that can't be sent is logged: what it says is on disk too.
    private nonisolated func publish(_ event: some Event) {
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    // MARK: Disk

    func carryOutLog() async throws {
        try await queues.log.forEach { [self] effect in
            switch effect {
            case .append(let block):
                let failure = await log.append(block)
                core.appended(failure, at: .now)
                health.measure(.commitLatency, core.latencies)
            case .removeLog(let position, let current):
                core.removedLog(await log.remove(before: position, current: current))
            default: return
            }
            perform()
        }
    }

    func carryOutFiles() async throws {
        try await queues.files.forEach { [self] effect in
            switch effect {
            case .write(let block): core.wrote(await files.apply(block), at: .now)
            case .writeDue: core.wrote(await files.writeDue(), at: .now)
            case .rebuild(let directory, let failures):
                let outcome = await files.finish(directory, log: logDirectory, failures: failures)
                core.rebuilt(directory.session, outcome, at: .now)
            case .forget(let session): await files.forget(session)
            default: return
            }
            perform()
        }
    }

    func carryOutSyncs() async throws {
        try await queues.syncs.forEach { [self] effect in
            guard case .sync(let session) = effect else { return }
            core.synced(session, await files.sync(session), at: .now)
            perform()
        }
    }

    func carryOutDocuments() async throws {
        try await queues.documents.forEach { [self] effect in
            switch effect {
            case .store(let record, let directory):
                let failure = await disk.attempt { () throws(RecordingError) in try directory.write(record) }
                core.stored(failure, at: .now)
            case .conclude(let record, let report, let directory):
                // A reader that finds a session to be over finds its report too. The checksums come last, for without them
                // the next start of the recorder tries to finish what could not be.
                let failure = await disk.attempt { () throws(RecordingError) in
                    try directory.write(report)
                    try directory.write(record)
                    try directory.writeChecksums(known: record.logs.flatMap(\.files))
                }
                core.concluded(record, failure, at: .now)
            case .removeJournal(let directory): _ = await disk.attempt { directory.removeJournal() }
            default: return
            }
            perform()
        }
    }

    // MARK: Others

    /// Asks publishers, all at the same time.
    func carryOutPublishers() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await queues.publishers.forEach { [self] effect in
                group.addTask { try await self.ask(effect) }
            }
        }
    }

    private func ask(_ effect: Recordings.Effect) async throws {
        switch effect {
        case .recover(let session, let stream):
            try await publishers.recover(
                SessionStream(engine: self, session: session, stream: stream), limit: settings.recoveryLimit.duration)
        case .list(let session, let patterns, let endpoints, let isHurried):
            let descriptions = await publishers.streams(
                patterns, at: endpoints, timeout: isHurried ? .seconds(1) : Self.listTimeout)
            core.listed(session, descriptions, at: .now)
        case .compareClocks(let session, let endpoints, let isLast):
            core.compared(session, await publishers.clocks(at: endpoints), isLast: isLast, at: .now)
        default: return
        }
        perform()
    }

    func carryOutConfiguring() async throws {
        try await queues.logManager.forEach { [self] _ in
            let answers = await configurations(of: core.unknownLogs(at: .now))
            core.configured(answers, at: .now)
            perform()
        }
    }

    /// Asks log-manager how logs are to be written.
    /// - Returns: nil if nothing was asked.
    func configurations(of names: [LogName]) async -> LogConfigurations.Answers? {
        guard !names.isEmpty else { return nil }
        let wasAway = core.configurations.awaySince != nil
        let answers = await logManager.configurations(of: names)
        // The program ends: that says nothing of log-manager.
        if Task.isCancelled { return nil }
        if answers.isAway, !wasAway {
            logger.info(
                "log-manager does not answer: stream files are written with the recording's settings and this program's defaults",
                metadata: ["endpoint": "\(logManager.endpoint)"])
        }
        return answers
    }

    func carryOutSubscriptions() async throws {
        try await queues.subscriptions.forEach { [self] effect in
            if case .unsubscribe(let patterns) = effect { await unsubscribe(from: patterns) }
        }
    }

    func wakeInTime() async throws {
        try await queues.wakes.forEach { [self] effect in
            guard case .wake(let time) = effect else { return }
            try await thread.sleep(until: time)
            core.advance(at: .now)
            perform()
        }
    }
}
