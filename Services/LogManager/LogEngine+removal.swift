import Files
import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What is removed: in pieces, each of them first in the ledger, then on the disk, so that an end at any moment leaves a
/// state that the next start completes.
extension LogEngine {
    /// How many files go at once: between pieces others have their turn.
    private static let pieceSize = 128
    /// How long cleaning up rests where nothing more may go.
    private static let cleanUpPause = TimeSpan.seconds(30)
    /// How long a request may remove files: its asker must hear of it before the time for an answer is over.
    static let requestLimit = TimeSpan.seconds(20)
    /// What a file takes up on the disk is a multiple of this.
    private static let blockSize = 4_096

    /// What became of files that were to be removed.
    struct RemovalOutcome {
        var done: [String] = []
        var refused: [LogFileOutcome.Refusal] = []
    }

    /// Removes files until there are no more bytes than this.
    func removeOldAndUploaded(_ request: LogsRemoveOldAndUploaded) async throws -> LogsRemoveOldAndUploaded.Reply {
        guard request.bytes >= 0 else {
            throw RequestError(.invalidParameter, "bytes is \(request.bytes): write how many may be left, 0 or more")
        }
        return try await exclusively {
            let plan = RemovalPlan(freeing: self.catalog.usage.totalBytes - request.bytes)
            let deadline = MonotonicClock.now + Self.requestLimit.nanoseconds
            let removed = try await self.removeAll(
                isUploaded: RetentionPolicy.oldest.isUploaded, log: nil, plan: plan, reason: .removeOldAndUploaded,
                until: deadline)
            let totalBytes = self.catalog.usage.totalBytes
            guard totalBytes <= request.bytes else {
                try Self.checkTime(deadline, removed: removed.count)
                throw RequestError(
                    .notEnough,
                    "\(removed.count) files were removed, and \(totalBytes) bytes are left, more than \(request.bytes): "
                        + "the others can't be removed; the log says why")
            }
            return LogsRemoveOldAndUploaded.Reply(removed: removed, totalBytes: totalBytes)
        }
    }

    /// Removes what the user's policy says, whenever a threshold is crossed that it is for.
    func cleanUpWhenFull() async throws {
        var next: Int64 = 0
        for await _ in full {
            guard settings.whenFull != .nothing, isFull, MonotonicClock.now >= next else { continue }
            var isStuck = true
            do {
                let removed = try await exclusively {
                    try await self.removeAll(
                        isUploaded: self.settings.whenFull.isUploaded, log: nil,
                        plan: RemovalPlan(freeing: self.bytesToFree, unit: self.isTooMuch ? 1 : Self.blockSize),
                        reason: .whenFull)
                }
                if !removed.isEmpty { logger.notice("cleaned up", metadata: ["files": "\(removed.count)"]) }
                isStuck = removed.isEmpty
            } catch {
                noteCatalogFailure(error)
            }
            noteRoom()
            if !isFull {
                health.clear("full")
            } else if isStuck {
                // What could not go now will hardly go a second later.
                next = MonotonicClock.now + Self.cleanUpPause.nanoseconds
                health.report(
                    .degraded,
                    "\(ByteCount(bytes: bytesToFree)) too much is on the disk, and --when-full \(settings.whenFull) "
                        + "lets nothing more go: free some space, or upload",
                    for: "full")
            }
        }
        throw CancellationError()
    }

    /// What `cleanUpWhenFull` would remove now, in order, with the thresholds that were given. For a dry run: nothing is
    /// changed but that the catalog knows what the disk has.
    func removalCandidates() async throws -> [CatalogFile] {
        try await rescan(isStart: true)
        var plan = RemovalPlan(freeing: bytesToFree(by: try catalog.thresholds.changed(by: settings.thresholds)))
        var files: [CatalogFile] = []
        for isUploaded in settings.whenFull.isUploaded {
            let candidates = try catalog.oldest(isUploaded: isUploaded, log: nil, limit: .max)
            files += candidates.prefix(plan.take(from: candidates.lazy.map(\.bytes)))
        }
        return files
    }

    /// Does something while no other removal is under way.
    func exclusively<Value>(_ body: () async throws -> Value) async throws -> Value {
        if isRemoving {
            await withCheckedContinuation { waitingRemovals.append($0) }
        }
        isRemoving = true
        defer {
            if waitingRemovals.isEmpty {
                isRemoving = false
            } else {
                waitingRemovals.removeFirst().resume()
            }
        }
        return try await body()
    }

    /// Removes files, oldest first, until a plan says that it is enough; without one, all of them.
    /// - Parameters:
    ///   - isUploaded: whose turn it is, in this order.
    ///   - deadline: when to stop at the latest, on `MonotonicClock`.
    func removeAll(
        isUploaded order: [Bool], log: LogName?, plan: RemovalPlan = RemovalPlan(freeing: .max), reason: RemovalReason,
        until deadline: Int64 = .max
    ) async throws -> [String] {
        var plan = plan
        var removed: [String] = []
        var refused: [CatalogFile] = []
        // Those stay in the ledger until the end: they would come up again and again.
        defer { takeBack(refused) }
        while !plan.isEnough, !Task.isCancelled, MonotonicClock.now < deadline {
            // Asked anew for each piece: what is marked in the meantime goes before what is not.
            var files: [CatalogFile] = []
            for isUploaded in order where files.isEmpty {
                files = try catalog.oldest(isUploaded: isUploaded, log: log, limit: Self.pieceSize)
            }
            if files.isEmpty { break }
            let piece = Array(files.prefix(plan.take(from: files.map(\.bytes))))
            let results = try await removePiece(piece, reason: reason)
            for (file, refusal) in results {
                if refusal == nil {
                    removed.append(file.path)
                } else {
                    plan.putBack(file.bytes)
                    refused.append(file)
                }
            }
            // Those that were gone already have freed nothing.
            let handled = Set(results.map(\.file.id))
            for file in piece where !handled.contains(file.id) { plan.putBack(file.bytes) }
        }
        return removed
    }

    /// Refuses where the time for a removal was over before it was done.
    static func checkTime(_ deadline: Int64, removed count: Int) throws(RequestError) {
        guard MonotonicClock.now >= deadline else { return }
        throw RequestError(.timedOut, "\(count) files were removed so far, and there are more; ask again to go on")
    }

    /// Removes these files.
    func remove(_ files: [CatalogFile], reason: RemovalReason) async throws -> RemovalOutcome {
        var outcome = RemovalOutcome()
        let deadline = MonotonicClock.now + Self.requestLimit.nanoseconds
        for piece in files.batches(of: Self.pieceSize) {
            guard MonotonicClock.now < deadline, !Task.isCancelled else {
                outcome.refused += files[piece.startIndex...].map {
                    LogFileOutcome.Refusal(path: $0.path, reason: "there was no time for it; ask again")
                }
                break
            }
            let results = try await removePiece(Array(piece), reason: reason)
            let handled = Set(results.map(\.file.id))
            for file in piece where !handled.contains(file.id) {
                outcome.refused.append(
                    LogFileOutcome.Refusal(path: file.path, reason: "it was unmarked or removed in the meantime"))
            }
            for (file, refusal) in results {
                if let refusal {
                    outcome.refused.append(LogFileOutcome.Refusal(path: file.path, reason: refusal))
                    takeBack([file])
                } else {
                    outcome.done.append(file.path)
                }
            }
        }
        return outcome
    }

    /// Removes a piece: ledger, unlink, sync of the directories, ledger.
    /// - Returns: each file, and why it is still there, if it is.
    private func removePiece(
        _ files: [CatalogFile], reason: RemovalReason
    ) async throws -> [(file: CatalogFile, refusal: String?)] {
        let date = WallTime.now
        var begun = try usingReserve { () throws(RecordingError) in
            try catalog.beginRemoval(of: files, reason: reason, date: date)
        }
        if reason == .removeUploaded {
            // Somebody may have taken a mark back since it was looked at.
            takeBack(begun.filter { $0.uploaded == nil })
            begun.removeAll { $0.uploaded == nil }
        }
        return try await finishRemoval(of: begun, reason: reason, date: date)
    }

    private func finishRemoval(
        of files: [CatalogFile], reason: RemovalReason, date: WallTime
    ) async throws -> [(file: CatalogFile, refusal: String?)] {
        let results = await worker.remove(files, reason: reason, date: date)
        let removed = results.filter { $0.refusal == nil }.map(\.file)
        try usingReserve { () throws(RecordingError) in try catalog.endRemoval(of: removed) }
        for (file, refusal) in results {
            var metadata: Logger.Metadata = ["path": "\(file.path)", "reason": "\(reason.rawValue)"]
            if let refusal {
                metadata[LogKey.error] = "\(refusal)"
                logger.warning("file not removed", metadata: metadata)
            } else {
                logger.info("file removed", metadata: metadata)
                removals[reason, default: (0, 0)].files += 1
                removals[reason, default: (0, 0)].bytes += file.bytes
                publish(
                    .removed, of: file.log.text, path: file.path, bytes: file.bytes, reason: reason.rawValue)
            }
        }
        try evaluate()
        return results
    }

    /// Completes removals that were cut off.
    func completeRemovals() async throws {
        let interrupted = try catalog.interruptedRemovals()
        for (removal, removals) in Dictionary(grouping: interrupted, by: { [$0.reason: $0.date] }) {
            guard let (reason, date) = removal.first else { continue }
            for (file, refusal) in try await finishRemoval(of: removals.map(\.file), reason: reason, date: date)
            where refusal != nil {
                takeBack([file])
            }
        }
    }

    /// Gives files back that could not be removed.
    private func takeBack(_ files: [CatalogFile]) {
        if files.isEmpty { return }
        do {
            try usingReserve { () throws(RecordingError) in try catalog.takeBack(files) }
        } catch {
            // The next start looks at them again.
            logger.error("files stay in the ledger", metadata: [LogKey.error: "\(error)"])
        }
    }
}
