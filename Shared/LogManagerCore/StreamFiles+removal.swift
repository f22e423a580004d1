import DequeModule
import Files
import Logging
package import Messages
import Recording
import ServiceKit

/// Removes files in pieces, one piece at a time, so that a request waits for at most one piece of a clean-up.
extension StreamFiles {
    /// Pause after a clean-up that could remove nothing more.
    private static let cleanUpPause = TimeSpan.seconds(30)
    /// How long a clean-up waits for the disk to show the space that the previous one freed.
    private static let spaceLimit = TimeSpan.seconds(35)
    /// Limit for a request to wait for its turn and remove files; shorter than the time limit of `ReplyServer`.
    private static let requestLimit = TimeSpan.seconds(20)
    private static let notAnyMore = "it was unmarked or removed in the meantime"
    /// The disk allocates space in multiples of this, in bytes.
    private static let blockSize = 4_096

    enum CleanUp {
        case idle
        /// Waiting for its turn, or removing files.
        case removing
        case retiringRemains
        /// `isStuck` stays true until a session is erased.
        case erasingRemains(isStuck: Bool)
        /// The next look at the disk decides whether enough space was freed.
        case judging(isStuck: Bool)
    }

    /// Free space on the disk since a clean-up began because there was too little of it. Some file systems free space long after
    /// a removal, and a removed file keeps its space as long as a program has it open.
    struct FreedSpace {
        /// The fewest bytes that were free.
        var lowest: Int
        /// Bytes of all that was removed.
        var removed = 0
        /// Until when the next clean-up waits for this space, on the monotonic clock.
        var deadline = Int64.min
        /// Whether the disk shows the space. Other programs may use some of it at once.
        var isShown = false

        mutating func take(freeBytes: Int) {
            lowest = min(lowest, freeBytes)
            if freeBytes - lowest >= removed - removed / 4 { isShown = true }
        }
    }

    /// A removal of files, for one reason.
    final class Removal {
        enum Purpose {
            /// Complete the removals in the ledger.
            case interrupted
            case uploaded(Answer<LogFileOutcome>)
            /// Remove files until at most this many bytes remain.
            case old(bytes: Int, Answer<LogsRemoveOldAndUploaded.Reply>)
            case log(LogName, LogPattern, Answer<LogsRemove.Reply>)
            case whenFull
        }

        let purpose: Purpose
        /// On the monotonic clock, in nanoseconds.
        let deadline: Int64
        /// Paths still to be looked up, and files still to be removed.
        var paths: ArraySlice<String> = []
        var files: ArraySlice<CatalogFile> = []
        /// Ledger entries still to be completed.
        var interrupted: ArraySlice<InterruptedRemoval> = []
        /// Nil until this removal's turn.
        var plan: RemovalPlan?
        var piece: RemovalPiece?
        /// Files that stay. They leave the ledger when the removal ends: earlier, they would be chosen again.
        var refused: [CatalogFile] = []
        var outcome = LogFileOutcome(done: [], refused: [])
        var error: RecordingError?
        /// Whether only the removal of `refused` from the ledger is left, and how many catalog changes that still takes.
        var isEnding = false
        var openChanges = 0
        /// Whether the removal waits for a look at the disk, or for the result of an effect.
        var isBusy = false

        init(_ purpose: Purpose, deadline: Int64 = .max) {
            self.purpose = purpose
            self.deadline = deadline
        }

        func refuse(_ file: CatalogFile, _ reason: String) {
            outcome.refused.append(LogFileOutcome.Refusal(path: file.path, reason: reason))
        }
    }

    /// Removals that wait for the running one.
    package var waitingRemovals: Int { max(0, removals.count - 1) }

    // MARK: Requests

    /// Removes those of the files that are marked as uploaded.
    package func removeUploaded(_ request: LogsRemoveUploaded, at now: Moment) -> Answer<LogFileOutcome> {
        let answer = Answer<LogFileOutcome>()
        let removal = Removal(.uploaded(answer), deadline: now.monotonic + Self.requestLimit.nanoseconds)
        removal.paths = Self.unique(request.paths)[...]
        begin(removal, at: now)
        return answer
    }

    /// Removes files until at most `request.bytes` remain: uploaded files before others, the oldest first.
    package func removeOldAndUploaded(
        _ request: LogsRemoveOldAndUploaded, at now: Moment
    ) -> Answer<LogsRemoveOldAndUploaded.Reply> {
        let answer = Answer<LogsRemoveOldAndUploaded.Reply>()
        if request.bytes < 0 {
            answer.refuse(
                RequestError(.invalidParameter, "bytes is \(request.bytes): write how many may be left, 0 or more"))
        } else {
            begin(
                Removal(
                    .old(bytes: request.bytes, answer), deadline: now.monotonic + Self.requestLimit.nanoseconds),
                at: now)
        }
        return answer
    }

    /// Removes a log's rule and its files. Refused as `wouldDelete` if there are files and `deleteFiles` is not set.
    package func remove(_ request: LogsRemove, at now: Moment) -> Answer<LogsRemove.Reply> {
        let answer = Answer<LogsRemove.Reply>()
        do throws(RequestError) {
            let pattern = try Self.pattern(request.name)
            let usage = pattern.log.flatMap { catalog.usage.logs[$0] } ?? LogUsage()
            guard let log = pattern.log, usage.files > 0 else {
                if catalog.rules[pattern] == nil {
                    throw RequestError(
                        .unknownLog, "'\(pattern)' was not added and has no finished files, so nothing was removed")
                }
                removeRule(pattern, removed: [], answer)
                return answer
            }
            if request.deleteFiles == true {
                begin(
                    Removal(.log(log, pattern, answer), deadline: now.monotonic + Self.requestLimit.nanoseconds),
                    at: now)
            } else {
                throw RequestError(
                    .wouldDelete,
                    "removing log '\(log)' would delete \(usage.files) files of \(usage.bytes) bytes, "
                        + "\(usage.pendingFiles) of them not uploaded; set \"deleteFiles\": true to delete them")
            }
        } catch {
            answer.refuse(error)
        }
        return answer
    }

    private func removeRule(_ pattern: LogPattern, removed: [String], _ answer: Answer<LogsRemove.Reply>) {
        change(.removeRule(pattern), for: .oldRule(LogsRemove.Reply(name: pattern.text, removed: removed), answer))
    }

    private func begin(_ removal: Removal, at now: Moment) {
        removals.append(removal)
        advanceRemovals(at: now)
    }

    // MARK: Automatic removal

    /// Completes the removals in the ledger.
    func completeRemovals(at now: Moment) {
        completionAt = nil
        do {
            let interrupted = try catalog.interruptedRemovals()
            if interrupted.isEmpty, case .running = state { return }
            let removal = Removal(.interrupted)
            removal.interrupted = interrupted[...]
            removals.append(removal)
        } catch {
            completionAt = now.monotonic + Self.retryInterval
            note(error)
        }
    }

    /// Lets the next clean-up begin at once: something that could not be removed before may be removable now.
    func endCleanUpPause() { cleanUpAt = .min }

    /// Begins a clean-up if the user's policy allows one and the pause is over.
    func cleanUpIfDue(at now: Moment) {
        guard case .idle = cleanUp, settings.whenFull != .nothing, now.monotonic >= cleanUpAt, !awaitsSpace(at: now)
        else { return }
        cleanUp = .removing
        freedSpace = missing(by: catalog.thresholds) > 0 ? freeBytes.map { FreedSpace(lowest: $0) } : nil
        removals.append(Removal(.whenFull))
    }

    /// Whether the disk may only not show yet that enough was removed. The threshold of all files needs no such wait.
    private func awaitsSpace(at now: Moment) -> Bool {
        guard let freedSpace, let freeBytes, excess(by: catalog.thresholds) <= 0 else { return false }
        let pending = freedSpace.removed - max(0, freeBytes - freedSpace.lowest)
        return !freedSpace.isShown && now.monotonic < freedSpace.deadline && missing(by: catalog.thresholds) <= pending
    }

    /// Makes the next clean-up wait until the disk shows the space that this one freed.
    func awaitSpace(at now: Moment) {
        guard let removed = freedSpace?.removed, removed > 0 else { return }
        freedSpace?.isShown = false
        freedSpace?.deadline = now.monotonic + Self.spaceLimit.nanoseconds
    }

    /// What a clean-up would remove now, with the thresholds from the settings.
    package func removalCandidates() throws -> RemovalCandidates {
        var plan = cleanUpPlan(by: try catalog.thresholds.changed(by: settings.thresholds))
        var files: [CatalogFile] = []
        for isUploaded in settings.whenFull.isUploaded {
            let candidates = try catalog.files(of: nil, isPending: !isUploaded, after: nil, limit: .max)
            files += candidates.prefix(plan.take(from: candidates.lazy.map(\.bytes)))
        }
        return RemovalCandidates(
            files: files, sessions: settings.whenFull == .nothing ? [] : removableSessions(without: files),
            onlyUploaded: settings.whenFull != .oldest, plan: plan)
    }

    private func cleanUpPlan(by thresholds: LogThresholds) -> RemovalPlan {
        RemovalPlan(
            freeing: bytesToFree(by: thresholds), unit: excess(by: thresholds) > 0 ? 1 : Self.blockSize)
    }

    /// Decides what follows a clean-up that ended, once the disk was looked at.
    func judgeCleanUp(at now: Moment) {
        guard case .judging(let isStuck) = cleanUp else { return }
        cleanUp = .idle
        guard isFull else { return }
        guard isStuck else { return cleanUpIfDue(at: now) }
        if settings.whenFull != .nothing, retireRemains() {
            cleanUp = .retiringRemains
            return
        }
        // A file that could not be removed now will hardly be removable a second later.
        cleanUpAt = now.monotonic + Self.cleanUpPause.nanoseconds
        emit(
            .degraded(
                "the disk holds \(ByteCount(bytes: bytesToFree)) too much, and --when-full \(settings.whenFull.rawValue) "
                    + "allows no more removals: free some space, or upload",
                for: "full"))
    }

    // MARK: The removal under way

    /// Continues with the running removal as far as possible, then with those after it.
    func advanceRemovals(at now: Moment) {
        while let removal = removals.first, !removal.isBusy { advance(removal, at: now) }
        // A removal that has waited too long is not begun.
        let late = removals.dropFirst().filter { now.monotonic >= $0.deadline }
        if late.isEmpty { return }
        removals.removeAll { removal in late.contains { $0 === removal } }
        for removal in late {
            refuseRest(of: removal)
            conclude(removal, at: now)
        }
    }

    private func advance(_ removal: Removal, at now: Moment) {
        if removal.isEnding {
            removals.removeFirst()
            return conclude(removal, at: now)
        }
        if !removal.paths.isEmpty {
            removal.isBusy = true
            return look(at: &removal.paths, for: .removal(removal))
        }
        do throws(RecordingError) {
            guard let chosen = try nextFiles(of: removal, at: now) else { return end(removal) }
            removal.isBusy = true
            switch removal.purpose {
            case .interrupted: carryOut(chosen, by: removal)
            default:
                change(
                    .beginRemoval(chosen.files, chosen.reason, chosen.date), for: .removal(removal))
            }
        } catch {
            removal.error = error
            end(removal)
        }
    }

    private struct Choice {
        let files: [CatalogFile]
        let reason: RemovalReason
        let date: WallTime
    }

    /// The files of the next piece; nil if nothing more is to be removed.
    private func nextFiles(of removal: Removal, at now: Moment) throws(RecordingError) -> Choice? {
        let isLate = now.monotonic >= removal.deadline
        switch removal.purpose {
        case .interrupted:
            guard let first = removal.interrupted.first else { return nil }
            let group = removal.interrupted.prefix(pieceSize).prefix {
                $0.reason == first.reason && $0.date == first.date
            }
            removal.interrupted = removal.interrupted.dropFirst(group.count)
            return Choice(files: group.map(\.file), reason: first.reason, date: first.date)
        case .uploaded:
            if isLate { refuseRest(of: removal) }
            while !removal.files.isEmpty {
                var files: [CatalogFile] = []
                for file in removal.files.prefix(pieceSize) {
                    let current = try catalog.file(at: file.path)
                    if current?.id == file.id, current?.identity == file.identity, current?.uploaded != nil {
                        files.append(file)
                    } else {
                        removal.refuse(file, Self.notAnyMore)
                    }
                }
                removal.files = removal.files.dropFirst(pieceSize)
                if !files.isEmpty { return Choice(files: files, reason: .removeUploaded, date: now.date) }
            }
            return nil
        case .old(let bytes, _):
            if isLate { return nil }
            let plan = removal.plan ?? RemovalPlan(freeing: catalog.usage.totalBytes - bytes)
            return try oldest(of: removal, plan, .oldest, nil, .removeOldAndUploaded, at: now)
        case .log(let log, _, _):
            if isLate { return nil }
            return try oldest(
                of: removal, removal.plan ?? RemovalPlan(freeing: .max), .oldest, log, .logRemoved, at: now)
        case .whenFull:
            // A request does not wait for a clean-up; the clean-up begins again after the request.
            if removal.plan != nil, removals.count > 1 { return nil }
            let plan = removal.plan ?? cleanUpPlan(by: catalog.thresholds)
            return try oldest(of: removal, plan, settings.whenFull, nil, .whenFull, at: now)
        }
    }

    /// The oldest files, up to the number of bytes to be freed. Chosen anew for each piece, because files marked in the meantime
    /// are removed before unmarked ones.
    private func oldest(
        of removal: Removal, _ plan: RemovalPlan, _ policy: RetentionPolicy, _ log: LogName?, _ reason: RemovalReason,
        at now: Moment
    ) throws(RecordingError) -> Choice? {
        var plan = plan
        defer { removal.plan = plan }
        if plan.isEnough { return nil }
        for isUploaded in policy.isUploaded {
            let files = try catalog.files(of: log, isPending: !isUploaded, after: nil, limit: pieceSize)
            if files.isEmpty { continue }
            let count = plan.take(from: files.map(\.bytes))
            return Choice(files: Array(files.prefix(count)), reason: reason, date: now.date)
        }
        return nil
    }

    /// Takes the files that were found at a removal's paths.
    func looked(_ found: [PathLook], by removal: Removal, at now: Moment) {
        removal.isBusy = false
        do throws(RecordingError) {
            let (files, refused) = try identify(found)
            removal.outcome.refused += refused
            for file in files where file.uploaded == nil {
                removal.refuse(file, "it is not marked as uploaded; mark it with its receipt first")
            }
            removal.files += files.filter { $0.uploaded != nil }
        } catch {
            removal.error = error
            end(removal)
        }
    }

    /// Takes the result of a change of the ledger.
    func changed(
        _ change: CatalogChange, of removal: Removal, _ result: Result<[CatalogFile], RecordingError>, at now: Moment
    ) {
        switch (change, result) {
        case (.takeBack(let files), _):
            // A comparison leaves out files in the ledger, so one that ran during the removal may have missed why these files
            // stay.
            for file in files { wantComparison(of: file.session) }
            removal.openChanges -= 1
            removal.isBusy = removal.openChanges > 0
            if case .failure(let error) = result {
                completionAt = now.monotonic + Self.retryInterval
                log(.error, "files stay in the ledger", [LogKey.error: "\(error)"])
            }
        case (.beginRemoval(let chosen, let reason, let date), .success(let files)):
            let begun = Set(files.map(\.id))
            for file in chosen where !begun.contains(file.id) {
                removal.plan?.putBack(file.bytes)
                removal.refuse(file, Self.notAnyMore)
            }
            carryOut(Choice(files: files, reason: reason, date: date), by: removal)
        case (.endRemoval, .success): finishPiece(of: removal, at: now)
        case (_, .failure(let error)):
            if case .endRemoval = change { completionAt = now.monotonic + Self.retryInterval }
            removal.error = error
            end(removal)
        default: break
        }
    }

    private func carryOut(_ choice: Choice, by removal: Removal) {
        let piece = RemovalPiece(choice.files, reason: choice.reason, date: choice.date)
        removal.piece = piece
        if let step = piece.step { return emit(.remove(step, piece.stepFiles)) }
        // A removal of named files continues with the next ones. One by age would choose the same files again.
        removal.isBusy = false
        if removal.plan != nil { end(removal) }
    }

    /// Takes the result of a step: the failures, by the files' numbers.
    package func stepped(_ failures: [Int64: RemovalFailure], at now: Moment) {
        guard let removal = removals.first, removal.piece?.step != nil else { return }
        removal.piece?.take(failures)
        guard let piece = removal.piece else { return }
        if let step = piece.step {
            emit(.remove(step, piece.stepFiles))
        } else if piece.removed.isEmpty {
            finishPiece(of: removal, at: now)
        } else {
            publishRemovals(of: piece, at: now)
            change(.endRemoval(piece.removed), for: .removal(removal))
        }
        advance(at: now)
    }

    /// Called before the ledger forgets the files: if the program is killed in between, its next start completes the removals and
    /// publishes them again.
    private func publishRemovals(of piece: RemovalPiece, at now: Moment) {
        for file in piece.removed where publishedRemovals.insert(file.id).inserted {
            publish(
                .removed, of: file.log.text, at: now, path: file.path, bytes: file.bytes, reason: piece.reason.rawValue)
        }
    }

    private func finishPiece(of removal: Removal, at now: Moment) {
        guard let piece = removal.piece else { return }
        removal.piece = nil
        removal.isBusy = false
        for file in piece.files {
            var metadata: Logger.Metadata = ["path": "\(file.path)", "reason": "\(piece.reason.rawValue)"]
            let refusal = piece.refusals[file.id] ?? piece.unfinished[file.id]
            guard let refusal else {
                log(.info, "file removed", metadata)
                removedUsage[piece.reason, default: LogUsage()].count(file)
                // A comparison after the unlinking did not count the file.
                if let files = remains[file.session]?.files { remains[file.session]?.files = max(0, files - 1) }
                if case .whenFull = removal.purpose { freedSpace?.removed += file.bytes }
                publishedRemovals.remove(file.id)
                removal.outcome.done.append(file.path)
                continue
            }
            metadata[LogKey.error] = "\(refusal)"
            log(.warning, "file not removed", metadata)
            removal.refuse(file, refusal)
            removal.plan?.putBack(file.bytes)
        }
        removal.refused += piece.refused
        if !piece.unfinished.isEmpty { completionAt = now.monotonic + Self.retryInterval }
    }

    private func refuseRest(of removal: Removal) {
        let rest = Array(removal.paths) + removal.files.map(\.path)
        removal.outcome.refused += rest.map {
            LogFileOutcome.Refusal(path: $0, reason: "there was no time for it; repeat the request")
        }
        (removal.paths, removal.files) = ([], [])
    }

    /// Takes the refused files out of the ledger; the removal ends after that.
    private func end(_ removal: Removal) {
        removal.isEnding = true
        removal.piece = nil
        for batch in removal.refused.batches(of: pieceSize) {
            removal.openChanges += 1
            change(.takeBack(Array(batch)), for: .removal(removal))
        }
        removal.refused = []
        removal.isBusy = removal.openChanges > 0
    }

    /// Answers the request behind a removal that is over.
    private func conclude(_ removal: Removal, at now: Moment) {
        let done = removal.outcome.done
        let isLate = now.monotonic >= removal.deadline
        let timedOut = RequestError(
            .timedOut, "\(done.count) files were removed so far, and more remain; repeat the request to continue")
        switch removal.purpose {
        case .interrupted:
            if let error = removal.error {
                completionAt = now.monotonic + Self.retryInterval
                note(error)
            }
            if case .starting = state { beginComparison(at: now) }
        case .uploaded(let answer):
            if let error = removal.error { return answer.refuse(refusal(of: error, at: now)) }
            answer.give(removal.outcome)
        case .old(let bytes, let answer):
            if let error = removal.error { return answer.refuse(refusal(of: error, at: now)) }
            let totalBytes = catalog.usage.totalBytes
            if totalBytes <= bytes {
                answer.give(LogsRemoveOldAndUploaded.Reply(removed: done, totalBytes: totalBytes))
            } else if isLate {
                answer.refuse(timedOut)
            } else {
                answer.refuse(
                    RequestError(
                        .notEnough,
                        "\(done.count) files were removed, and \(totalBytes) bytes are left, more than \(bytes): "
                            + "the others can't be removed; the log has the reasons"))
            }
        case .log(_, let pattern, let answer):
            if let error = removal.error { return answer.refuse(refusal(of: error, at: now)) }
            if isLate { return answer.refuse(timedOut) }
            removeRule(pattern, removed: done, answer)
        case .whenFull:
            if let error = removal.error { note(error) }
            if !done.isEmpty { log(.notice, "cleaned up", ["files": "\(done.count)"]) }
            // If nothing is left to remove, there is no use in waiting.
            if removal.plan?.isEnough == true || !removals.isEmpty { awaitSpace(at: now) }
            if let error = removal.error, error.code != .noSpace {
                // Whether more stream files can be removed is unknown, so the remains of sessions must not be removed in their
                // place. If only space for the ledger is missing, they may: removing them needs no ledger, and frees space.
                cleanUp = .idle
                cleanUpAt = now.monotonic + Self.retryInterval
            } else {
                // A clean-up that made way for a request is not stuck.
                cleanUp = .judging(isStuck: done.isEmpty && removals.isEmpty)
            }
            emit(.restoreReserve)
            emit(.lookAtDisk)
        }
    }
}
