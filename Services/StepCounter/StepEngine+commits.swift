import Files
import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What becomes durable: the steps of each second, and all that goes on after a kill.
extension StepEngine {
    /// How often steps are committed: what a kill may cost to be counted again.
    private static let interval = TimeSpan.seconds(1)
    /// How many commits it takes until each detector was stored; each second has its share of the devices.
    private static let shares = 10
    /// How often what is too old is removed.
    private static let expiryInterval = TimeSpan.seconds(60)

    /// Which detectors a commit has.
    private enum Snapshots {
        /// Those that are stored for the first time.
        case new
        /// Those of a share of the devices too.
        case share(Int)
        case all
    }

    /// Commits each second, until the task is cancelled.
    func commitRegularly() async throws {
        var tick = MonotonicClock.now
        var expiry = tick
        var share = 0
        while true {
            tick = max(tick + Self.interval.nanoseconds, MonotonicClock.now)
            try await thread.sleep(until: tick)
            share = (share + 1) % Self.shares
            await commit(.share(share))
            if MonotonicClock.now >= expiry {
                expiry = MonotonicClock.now + Self.expiryInterval.nanoseconds
                await expire()
            }
        }
    }

    /// Commits whenever somebody waits for it, until the task is cancelled.
    func commitWhenWanted() async throws {
        for await _ in commitsWanted { await commit(.new) }
        throw CancellationError()
    }

    /// Waits until what was found so far is in the history, or could not be written.
    func awaitCommit() async throws {
        guard !isStopping, isCommitting || !pending.isEmpty else { return }
        let wanted = pending.isEmpty ? commitsBegun : commitsBegun + 1
        commitContinuation.yield()
        while commitsEnded < wanted { try await thread.sleep(until: MonotonicClock.now + 1_000_000) }
    }

    /// Takes nothing more, and commits what there is, so that the next start goes on from here.
    func finish() async {
        isStopping = true
        await commit(.all)
    }

    private func commit(_ snapshots: Snapshots) async {
        while isCommitting {
            guard (try? await thread.sleep(until: MonotonicClock.now + 1_000_000)) != nil else { return }
        }
        var commit = pending
        let steps = commit.steps.values.reduce(0) { $0 + $1.count }
        var committed: [DeviceCounter] = []
        for (index, counter) in order.enumerated() {
            let isShared =
                switch snapshots {
                case .new: false
                case .share(let share): index % Self.shares == share
                case .all: true
                }
            let isDue = (isShared || !counter.hasSnapshot) && counter.isSnapshotDue
            guard isDue || counter.hasNewSteps else { continue }
            commit.positions[counter.name] = counter.position(isWithSnapshot: isDue)
            counter.hasNewSteps = false
            committed.append(counter)
        }
        guard !commit.isEmpty else { return }
        pending = StepCommit()
        isCommitting = true
        commitsBegun += 1
        defer {
            commitsEnded = commitsBegun
            isCommitting = false
        }
        do {
            try await keeper.commit(commit)
            pendingSteps -= steps
            noteCommit()
        } catch {
            putBack(commit)
            for counter in committed { counter.noteUnstored() }
            noteFailure(error)
        }
    }

    private func putBack(_ commit: StepCommit) {
        for (device, dates) in commit.steps { pending.steps[device] = dates + (pending.steps[device] ?? []) }
        for (id, subscription) in commit.subscriptions
        where pending.subscriptions[id] == nil && !pending.stopped.contains(id) {
            pending.subscriptions[id] = subscription
        }
        pending.stopped.formUnion(commit.stopped)
    }

    private func noteCommit() {
        guard isFailing else { return }
        isFailing = false
        if droppedSteps == 0 {
            logger.notice("the history is written again")
            health.clear("history")
        } else {
            logger.notice("the history is written again", metadata: ["steps.lost": "\(droppedSteps)"])
            health.report(
                .degraded, "the history lacks \(droppedSteps) steps: it could not be written for too long",
                for: "history")
        }
    }

    private func noteFailure(_ error: RecordingError) {
        if !isFailing { logger.error("the history can't be written", metadata: [LogKey.error: "\(error)"]) }
        isFailing = true
        let waiting = "\(pendingSteps) steps wait in memory"
        if droppedSteps > 0 {
            health.report(.failing, "\(error) \(waiting), and \(droppedSteps) were lost.", for: "history")
        } else {
            health.report(.degraded, "\(error) Counting goes on; \(waiting).", for: "history")
        }
    }

    /// Removes what is too old.
    private func expire() async {
        let (oldest, overflow) = WallTime.now.nanosecondsSince1970.subtractingReportingOverflow(
            settings.keep.nanoseconds)
        guard !overflow else { return }
        let date = WallTime(nanosecondsSince1970: oldest)
        for subscription in subscriptions.expire(before: date) { pending.noteStop(of: subscription.id) }
        do {
            try await keeper.remove(before: date)
        } catch {
            logger.warning("old steps not removed", metadata: [LogKey.error: "\(error)"])
        }
    }
}
