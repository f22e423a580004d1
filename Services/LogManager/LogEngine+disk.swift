import Files
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What the disk has: files that were finished, went away or changed.
extension LogEngine {
    /// How often the room on the disk is looked at.
    private static let diskInterval = TimeSpan.seconds(1)
    /// How soon all is compared again after a failure of the catalog, or where a recorder has come.
    private static let retryInterval = TimeSpan.seconds(5)
    /// How many files are compared at once: between pieces others have their turn.
    private static let pieceSize = 256

    /// Takes events of recorders.
    func take(_ batch: MessageBatch) async {
        var segments: [SegmentFinished] = []
        var sessions: [String: RecordingEvent] = [:]
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let frames = try EventFrames(message, of: messages)
                    if frames.isIn(TopicArea.segment) {
                        segments.append(try frames.decode(SegmentFinished.self))
                    } else if frames.isIn(TopicArea.recording) {
                        let event = try frames.decode(RecordingEvent.self)
                        // Of several, one that asks for a look at the disk.
                        if sessions[event.session].map({ !$0.mayHaveFinished }) ?? true {
                            sessions[event.session] = event
                        }
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        // Before files are added: a session that is known by one of them may have others of which nobody was told.
        let unseen = sessions.compactMap { name, event -> SessionIdentifier? in
            guard let session = try? SessionIdentifier(name) else { return nil }
            return event.mayHaveFinished || !catalog.isOpen(session) ? session : nil
        }
        do {
            for segment in segments { try add(segment) }
            for session in unseen { try await rescan(session) }
            try evaluate()
        } catch {
            noteCatalogFailure(error)
        }
    }

    /// Adds a file of which a recorder says that it is finished. One that is not as it says is left to the next look at
    /// the disk.
    private func add(_ segment: SegmentFinished) throws {
        guard var found = folder.find(segment.path), found.identity.bytes == segment.bytes else { return }
        found.sha256 = segment.sha256
        try catalog.add(found)
    }

    /// Looks at the room on the disk regularly, until the task is cancelled.
    func watchDisk() async throws {
        var tick = MonotonicClock.now
        while true {
            tick = max(tick + Self.diskInterval.nanoseconds, MonotonicClock.now)
            try await thread.sleep(until: tick)
            noteRoom()
            do { try evaluate() } catch { noteCatalogFailure(error) }
        }
    }

    /// Has the disk compared with the catalog soon: a recorder has come, which may have finished files unheard.
    func noteReconnect() { hasRecorderCome = true }

    /// Compares the disk with the catalog regularly, until the task is cancelled: files come and go without a word. Sooner
    /// where a recorder has come, and after a failure, which may have kept a file out of it.
    func rescanRegularly() async throws {
        var next = MonotonicClock.now + settings.rescanInterval.nanoseconds
        while true {
            try await thread.sleep(until: min(next, MonotonicClock.now + Self.retryInterval.nanoseconds))
            let isRetry = hasCatalogFailed
            guard isRetry || hasRecorderCome || MonotonicClock.now >= next else { continue }
            next = MonotonicClock.now + settings.rescanInterval.nanoseconds
            (hasCatalogFailed, hasRecorderCome) = (false, false)
            do {
                try await rescan()
                // Where there was nothing to write, this shows that it can be written.
                if isRetry { try catalog.setThresholds(catalog.thresholds) }
                if !hasCatalogFailed { health.clear("catalog") }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                noteCatalogFailure(error)
            }
        }
    }

    /// Compares all of the disk with the catalog, session by session, so that others have their turn in between.
    /// - Parameter isStart: nobody else changes anything meanwhile.
    func rescan(isStart: Bool = false) async throws {
        let sessions = try await worker.sessions()
        guard !sessions.isEmpty || catalog.sessions.isEmpty || folder.hasRecordings else {
            // A disk that is not mounted must not let every mark be forgotten.
            logger.error("there are no recordings, and the catalog has some: nothing is compared")
            health.report(
                .degraded, "there are no recordings, and the catalog has some: is the disk mounted?", for: "recordings")
            return
        }
        health.clear("recordings")
        for session in sessions {
            try Task.checkCancellation()
            try await rescan(session, isStart: isStart)
        }
        for session in catalog.sessions where !sessions.contains(session) {
            try await rescan(session, isStart: isStart)
        }
        freeBytes = folder.freeBytes()
        try evaluate()
    }

    private func rescan(_ session: SessionIdentifier, isStart: Bool = false) async throws {
        let content = try await worker.content(of: session)
        if let warning = content.warning {
            logger.warning("files left alone", metadata: ["session": "\(session)", LogKey.error: "\(warning)"])
        }
        var reconciliation = try Reconciliation(
            of: content, in: catalog, folder: folder, stepSize: isStart ? Reconciliation.stepSize : Self.pieceSize)
        var changes = CatalogChanges()
        while let step = try reconciliation.step() {
            changes += step
            if !isStart { await Task.yield() }
        }
        for file in changes.changed {
            logger.warning("a finished file has changed; it counts as not uploaded", metadata: ["path": "\(file.path)"])
        }
        guard !changes.isEmpty, !isStart else { return }
        logger.info(
            "the disk has changed",
            metadata: [
                "session": "\(session)", "added": "\(changes.added)", "gone": "\(changes.gone.count)",
                "changed": "\(changes.changed.count)",
            ])
    }

    /// Looks at the room on the disk, and keeps some for the ledger.
    func noteRoom() {
        _ = try? reserve.restore()
        freeBytes = folder.freeBytes()
    }

    /// Changes the ledger, with the room that was kept for it where the disk is full.
    func usingReserve<Value>(_ body: () throws(RecordingError) -> Value) throws(RecordingError) -> Value {
        do {
            return try body()
        } catch {
            guard error.code == .noSpace, reserve.exists else { throw error }
            try reserve.release()
            return try body()
        }
    }

    func noteCatalogFailure(_ error: any Error) {
        hasCatalogFailed = true
        logger.error("the catalog could not be kept", metadata: [LogKey.error: "\(error)"])
        health.report(.failing, "the catalog could not be kept: \(error)", for: "catalog")
    }
}

extension RecordingEvent {
    /// Whether files may have been finished of which nobody was told: of a session that is over, all count; a recorder that
    /// was killed may have had no time to say what it finished.
    fileprivate var mayHaveFinished: Bool {
        change == .restart || SessionStatus(rawValue: status)?.isOver ?? false
    }
}
