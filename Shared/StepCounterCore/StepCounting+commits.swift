import Logging
package import Messages
import ServiceKit

/// Durability: the steps of each second are committed with their streams' positions, so that a kill neither loses nor duplicates
/// any.
extension StepCounting {
    /// The number of seconds in which every detector is stored once; each second stores its share of the devices.
    private static let shares = 10
    /// How often old data are removed, in nanoseconds.
    private static let expiryInterval = TimeSpan.seconds(60).nanoseconds
    /// How long after its start a step-counter first removes data, in nanoseconds: positions in use are committed by then.
    static let firstExpiry = TimeSpan.seconds(10).nanoseconds

    /// The operation on the history under way: one at a time.
    enum HistoryWork {
        case commit(StepCommit, steps: Int, of: [DeviceCounter])
        case removal

        var commit: StepCommit? {
            if case .commit(let commit, _, _) = self { commit } else { nil }
        }
    }

    enum Phase {
        case counting
        /// Everything must be committed before the program ends.
        case lastCommitDue
        case lastCommit
        case over
    }

    /// The detectors to include in a commit.
    private enum Snapshots {
        /// Those that are not stored yet.
        case new
        /// Also those of a share of the devices.
        case share(Int)
        case all
    }

    package var isStopping: Bool { phase != .counting }
    /// Whether everything was committed, or could not be written, and the program may end.
    package var isOver: Bool { phase == .over }

    /// Stops counting, and commits everything, so that the next start continues from here.
    package func stop(at now: Moment) {
        if !isStopping { phase = .lastCommitDue }
        advance(at: now)
    }

    /// Commits what was found so far without waiting for the next second.
    /// - Parameter device: a device whose counted samples must be committed even if they had no steps.
    /// - Returns: the number of the commit, for `isCommitted`.
    package func commitNow(of device: String? = nil, at now: Moment) -> Int {
        let isLast = phase == .lastCommit || phase == .over
        var isDue = !pending.isEmpty
        if let counter = device.flatMap({ counters[$0] }), counter.hasUnstoredSpans {
            counter.isPositionDue = true
            isDue = true
        }
        if !isDue || isLast { return commitsBegun }
        let wanted = commitsBegun + 1
        demandedCommits = wanted
        advance(at: now)
        return wanted
    }

    /// Whether a commit has ended. If it failed, its contents wait for the next one.
    package func isCommitted(_ commit: Int) -> Bool { commitsEnded >= commit || isOver }

    /// Starts the next possible operation on the history.
    func advance(at now: Moment) {
        guard historyWork == nil else { return }
        switch phase {
        case .counting:
            // First, because on a slow disk there is always a commit due.
            if let removal {
                self.removal = nil
                historyWork = .removal
                emit(.remove(removal))
            } else if isShareDue {
                isShareDue = false
                share = (share + 1) % Self.shares
                beginCommit(.share(share), at: now)
            } else if demandedCommits > commitsBegun {
                beginCommit(.new, at: now)
            }
        case .lastCommitDue:
            beginCommit(.all, at: now)
            phase = historyWork == nil ? .over : .lastCommit
        case .lastCommit: phase = .over
        case .over: break
        }
    }

    private func beginCommit(_ snapshots: Snapshots, at now: Moment) {
        var commit = pending
        var counters: [DeviceCounter] = []
        for (index, counter) in devices.enumerated() {
            let isShared =
                switch snapshots {
                case .new: false
                case .share(let share): index % Self.shares == share
                case .all: true
                }
            let isDue = (isShared || !counter.hasSnapshot) && counter.isSnapshotDue
            guard isDue || counter.isPositionDue else { continue }
            commit.positions[counter.name] = counter.position(isWithSnapshot: isDue)
            counter.isPositionDue = false
            let spans = counter.takeUnstoredSpans()
            if !spans.isEmpty { commit.spans[counter.name.device] = spans }
            counters.append(counter)
        }
        guard !commit.isEmpty else { return }
        historyWork = .commit(commit, steps: commit.steps.values.reduce(0) { $0 + $1.count }, of: counters)
        pending = StepCommit()
        commitsBegun += 1
        emit(.commit(commit, at: max(clock.state.date, startDate)))
    }

    /// Takes the result of a commit. If it failed, its contents wait for the next one.
    package func committed(_ failure: (any Error)?, at now: Moment) {
        guard case .commit(let commit, let steps, let counters) = historyWork else { return }
        historyWork = nil
        commitsEnded = commitsBegun
        if let failure {
            putBack(commit)
            for counter in counters { counter.noteUnstored() }
            noteFailure(failure)
        } else {
            pendingSteps -= steps
            storedSubscriptions.formUnion(commit.subscriptions.keys)
            storedSubscriptions.subtract(commit.stopped)
            noteSuccess()
        }
        advance(at: now)
    }

    private func putBack(_ commit: StepCommit) {
        for (device, steps) in commit.steps { pending.steps[device] = steps + (pending.steps[device] ?? []) }
        for (id, subscription) in commit.subscriptions
        where pending.subscriptions[id] == nil && !pending.stopped.contains(id) {
            pending.subscriptions[id] = subscription
        }
        pending.abandoned.formUnion(commit.abandoned)
        pending.stopped = pending.stopped.union(commit.stopped).intersection(storedSubscriptions)
    }

    private func noteSuccess() {
        guard isFailing else { return }
        isFailing = false
        if droppedSteps == 0 {
            emit(.log(.notice, "the history can be written again", [:]))
            emit(.warn(nil, for: "history"))
        } else {
            emit(.log(.notice, "the history can be written again", ["steps.lost": "\(droppedSteps)"]))
            emit(
                .warn(
                    "the history lacks \(droppedSteps) steps: it could not be written for too long", for: "history"))
        }
    }

    private func noteFailure(_ error: any Error) {
        if !isFailing { emit(.log(.error, "the history can't be written", [LogKey.error: "\(error)"])) }
        isFailing = true
        let waiting = "\(pendingSteps) steps wait in memory"
        if droppedSteps > 0 {
            emit(.failing("\(error) \(waiting), and \(droppedSteps) were lost.", for: "history"))
        } else {
            emit(.warn("\(error) Counting continues; \(waiting).", for: "history"))
        }
    }

    // MARK: Removal

    /// Notes that a session was discarded: its steps are removed soon, without waiting for the next regular removal.
    package func noteDiscard(at now: Moment) {
        removalAt = min(removalAt, max(now.monotonic, startedAt.monotonic + Self.firstExpiry))
        expire(at: now)
        advance(at: now)
    }

    /// Ends unused subscriptions and, once a minute, removes steps that are too old or of discarded sessions.
    func expire(at now: Moment) {
        guard !isStopping else { return }
        for subscription in subscriptions.expire(at: clock.state.date, keep: settings.keep) {
            end(subscription, at: now)
        }
        guard now.monotonic >= removalAt else { return }
        removalAt = now.monotonic + Self.expiryInterval
        let date = min(clock.state.date, now.date)
        let (oldest, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(settings.keep)
        guard !overflow else { return }
        let steps = WallTime(nanosecondsSince1970: oldest)
        removal = Removal(steps: steps, positions: min(steps, startDate), clock: clock.state)
    }

    /// Reports a change of this machine's clock.
    func note(_ change: HistoryClock.Change?, isRunning: Bool, at now: Moment) {
        guard let change else { return }
        let state = clock.state
        switch change {
        case .jumped:
            let days = Double(state.ahead) / 86_400e9
            let hours = Double(clock.remainingProbation) / 3_600e9
            emit(
                .log(
                    isRunning ? .warning : .notice, "the clock is far from the step history's",
                    [
                        "days": "\(days)", "history": "\(state.date.utcText)", "clock": "\(now.date.utcText)",
                        "trusted.after.hours": "\(hours)",
                    ]))
            // After a start the clock is usually right: the program was not running for a long time.
            guard isRunning else { return }
            emit(
                .warn(
                    "this machine's clock jumped from \(state.date.utcText) to \(now.date.utcText): if it is wrong, set it; "
                        + "no steps are removed by this time until it has stood for \(hours) hours", for: "jump"))
        case .returned, .followed:
            emit(
                .log(
                    .notice,
                    change == .returned ? "the clock is back" : "the step history follows the clock after its jump",
                    ["clock": "\(now.date.utcText)"]))
            emit(.warn(nil, for: "jump"))
        }
    }

    package func removed(_ failure: (any Error)?, at now: Moment) {
        historyWork = nil
        if let failure { emit(.log(.warning, "old steps not removed", [LogKey.error: "\(failure)"])) }
        advance(at: now)
    }
}
