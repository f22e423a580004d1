import Files
import Foundation
import MessageBus
import Messages
import ServiceKit
import StepCounterCore
import StepStorage
import SystemPackage

/// A step-counter in virtual time: all decisions of the real one, its detectors and its history. It counts the first stream of
/// each publisher.
final class SimulatedStepCounter: WakingProgram {
    /// The stream in which steps are counted.
    static let stream = "sensor-0"
    private static let recoveryLimit: Int64 = 10_000_000_000
    private static let keep: Int64 = 7 * 86_400_000_000_000

    /// An operation on the history.
    private enum Work {
        case commit(StepCommit, WallTime)
        case removal(StepCounting.Removal)
    }

    /// The percentage of commits that fail.
    var faults: Int
    let simulation: Simulation
    private let data: FilePath
    private let holdLimit: Int
    private var core: StepCounting?
    private var history: StepHistory?
    private(set) var life = 0
    private var work: Work?
    private var replays: SimulatedReplayClient?
    private var topics: Set<[UInt8]> = []

    // Of this life
    /// The next scheduled wake-up, on the monotonic clock.
    var wakeTime = Int64.max
    private var startedAt: Int64 = 0
    private var events: [String: Int] = [:]
    private var totals: [String: Int] = [:]
    /// Devices whose description was received.
    private var heard: Set<String> = []
    private var lost: [String: [Range<Int>]] = [:]
    /// The first sample of each epoch that is not in the history.
    private var firstNew: [String: Int] = [:]

    // Of all lives
    /// The committed steps of each device.
    private var steps: [String: [WallTime]] = [:]
    private var positions: [StreamName: StreamPosition] = [:]
    /// Devices whose subscription has delivered all of their steps.
    private var isExact: Set<String> = []
    private var hasGaps: Set<String> = []

    init(faults: Int, holdLimit: Int, in data: FilePath, of simulation: Simulation) {
        self.faults = faults
        self.holdLimit = holdLimit
        self.data = data
        self.simulation = simulation
    }

    var isRunning: Bool { core != nil }

    private func require(_ isSo: Bool, _ sentence: @autoclosure () -> String) {
        simulation.counts.checks.stepCounter += 1
        if !isSo { simulation.violate("step-counter: \(sentence())") }
    }

    // MARK: Life

    func start() throws {
        life += 1
        (work, topics, events, totals, lost, heard) = (nil, [], [:], [:], [:], [])
        startedAt = simulation.now
        wakeTime = .max
        let history = try StepHistory(in: data, at: now.date)
        self.history = history
        let stored = try history.positions()
        require(
            stored.mapValues { [$0.next] } == positions.mapValues { [$0.next] },
            "the history has other positions than were stored")
        firstNew = [:]
        for position in stored.values { firstNew[position.epoch] = position.next }
        let subscriptions = try history.subscriptions()
        for subscription in subscriptions {
            require(
                !isExact.contains(subscription.device)
                    || subscription.numberOfSteps == steps[subscription.device]?.count ?? 0,
                "a subscription of \(subscription.device) has \(subscription.numberOfSteps) steps")
        }
        let core = StepCounting(
            StepCounting.Settings(
                publishers: "tcp://10.0.0.1:5550", streams: [Self.stream], keep: Self.keep, maximumDevices: 10,
                holdLimit: holdLimit), try history.stored(), at: now)
        self.core = core
        replays = makeReplayClient(of: .stepCounter, limit: Self.recoveryLimit)
        for publisher in simulation.publishers {
            let device = publisher.plan.device
            if subscriptions.contains(where: { $0.device == device }) { continue }
            if life == 1 { isExact.insert(device) } else { isExact.remove(device) }
            _ = try core.start(
                StepsStartUpdates(device: device, updateOn: simulation.number(1...9)), id: "\(device)-\(life)", at: now)
        }
        _ = core.commitNow(at: now)
        perform()
    }

    /// Kills the program. A commit in progress either reaches the history or does not.
    func kill() throws {
        if let work, simulation.happens(0.5) { try carryOut(work) }
        (core, history, work, replays) = (nil, nil, nil, nil)
    }

    /// Ends the program as SIGTERM does.
    func stop() throws {
        core?.stop(at: now)
        perform()
        while core?.isOver == false, work != nil { try finishWork(isFailing: false) }
        require(core?.isOver == true, "it does not end")
    }

    /// Notes that the machine falls asleep. For a device that was not heard yet, the program can't know later which steps
    /// preceded its subscription: its clock stopped meanwhile.
    func fallAsleep() { isExact.formIntersection(heard) }

    // MARK: Arriving messages

    func take(_ event: SimulatedPublisher.Event) throws {
        guard let core else { return }
        switch event {
        case .description(let description):
            heard.insert(description.device)
            core.take(description, at: now)
        case .samples(let batch):
            guard topics.contains(batch.topic) else { return }
            try batch.withFrames { _ = try core.take($0, at: now) }
        }
        perform()
    }

    // MARK: Effects

    private func perform() {
        guard let core else { return }
        var effects: [StepCounting.Effect] = []
        if !core.takeEffects(into: &effects) { return planWake() }
        for effect in effects {
            switch effect {
            case .commit(let commit, let date): begin(.commit(commit, date))
            case .remove(let removal): begin(.removal(removal))
            case .subscribe(let topic): topics.insert(Array(topic.utf8))
            case .recover(let stream): recover(stream)
            case .notice(.publish(let event)): if let event = event as? StepEvent { check(event) }
            case .notice(.log(_, let message, let metadata)):
                let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                let line = "step-counter: \(message) \(details.joined(separator: " "))"
                simulation.note(line.replacing(data.string + "/", with: ""))
            case .notice: break
            }
        }
        planWake()
    }

    var nextDeadline: Int64 { core?.nextDeadline ?? .max }

    func wake() throws {
        core?.wake(at: now)
        perform()
    }

    private func begin(_ work: Work) {
        require(self.work == nil, "two things are done to the history at a time")
        self.work = work
        later(500_000...(simulation.happens(0.9) ? 20_000_000 : 3_000_000_000)) { [self] in
            try finishWork(isFailing: simulation.number(0...99) < faults)
        }
    }

    private func finishWork(isFailing: Bool) throws {
        guard let work, let core else { return }
        self.work = nil
        let failure =
            isFailing
            ? RecordingError(.noSpace, action: "write", reason: "the disk is full", advice: "Free some space.") : nil
        if failure == nil { try carryOut(work) }
        switch work {
        case .commit: core.committed(failure, at: now)
        case .removal: core.removed(failure, at: now)
        }
        perform()
    }

    private func carryOut(_ work: Work) throws {
        switch work {
        case .removal(let removal): try history?.remove(removal)
        case .commit(let commit, let date):
            try history?.commit(commit, at: date)
            simulation.counts.commits += 1
            for (name, new) in commit.positions {
                if let stored = positions[name], stored.epoch == new.epoch {
                    require(new.next >= stored.next, "the position of \(name) decreases")
                }
                if let snapshot = new.snapshot {
                    require(snapshot.next <= new.next, "the detector of \(name) is ahead of its position")
                }
                positions[name] = new
            }
            for name in commit.abandoned { positions[name] = nil }
            for (device, counted) in commit.steps {
                steps[device, default: []] += counted.map(\.date)
                simulation.counts.steps += counted.count
            }
            for subscription in commit.subscriptions.values where isExact.contains(subscription.device) {
                require(
                    subscription.numberOfSteps == steps[subscription.device]?.count ?? 0,
                    "\(subscription.device) made \(steps[subscription.device]?.count ?? 0) steps, and its subscription has "
                        + "\(subscription.numberOfSteps)")
            }
        }
    }

    // MARK: Missing samples

    private func recover(_ name: StreamName) {
        replays?.recover(
            ReplayedStream(
                missing: { [self] in
                    defer { perform() }
                    return core?.missing(name, at: now)
                },
                heardSince: { [self] in core?.heardSince(name, at: now) },
                take: { [self] reply, frames, request in
                    core?.take(frames, count: reply.count, for: request, at: now)
                    perform()
                    return true
                },
                giveUp: { [self] request, reason in
                    core?.giveUp(request, reason: reason, at: now)
                    perform()
                    return true
                }))
    }

    // MARK: Invariants

    private func check(_ event: StepEvent) {
        require(event.sequence == events[event.device, default: 0], "an event of \(event.device) has another number")
        events[event.device, default: 0] += 1
        if let id = event.subscription, let total = event.numberOfSteps {
            require(total > totals[id] ?? 0, "the total of \(id) does not grow")
            totals[id] = total
        }
        if let gap = event.gap { check(gap, of: event.device) }
    }

    private func check(_ gap: Gap, of device: String) {
        simulation.counts.stepGaps += 1
        hasGaps.insert(device)
        guard gap.count > 0 else { return }
        let samples = gap.from..<(gap.from + gap.count)
        require(lost[gap.epoch]?.contains { $0.overlaps(samples) } != true, "samples \(samples) are lost twice")
        lost[gap.epoch, default: []].append(samples)
        require(gap.from >= firstNew[gap.epoch] ?? 0, "samples \(samples) were counted, and are lost")
        guard let index = simulation.publishers.firstIndex(where: { $0.plan.device == device }),
            let epoch = simulation.oracle.epochs[StreamName(device: device, stream: Self.stream)]?
                .first(where: { $0.name == gap.epoch })
        else { return require(false, "nobody published epoch \(gap.epoch) of \(device)") }
        for sample in [samples.lowerBound, samples.upperBound - 1] {
            guard let batch = epoch.batch(of: sample) else {
                require(false, "sample \(sample) is lost, and was never published")
                continue
            }
            let end = min(
                epoch.end ?? .max, batch.time + simulation.publishers[index].plan.retention, batch.forgotten,
                simulation.now)
            // A detector is stored every ten seconds: samples since then must be heard again after a kill.
            require(
                !simulation.couldHave(.stepCounter, index, from: max(batch.time, startedAt), to: end),
                "sample \(sample) of \(device) is lost (\(gap.reason.rawValue)), although it was available")
        }
    }

    // MARK: At rest

    /// What is not as it must be once nothing is published any more; nil if all is well.
    func unrest() throws -> String? {
        guard core != nil else { return "step-counter does not run" }
        for publisher in simulation.publishers {
            let name = StreamName(device: publisher.plan.device, stream: Self.stream)
            guard let epochs = simulation.oracle.epochs[name], let last = epochs.last, last.published > 0 else {
                continue
            }
            guard let position = positions[name], position.epoch == last.name, position.next == last.published else {
                return "\(name) is counted up to \(positions[name]?.next ?? 0) of \(last.published)"
            }
        }
        return nil
    }

    /// Judges all steps, once everything is counted.
    func judge() throws {
        let reader = try StepHistoryReader(in: data, keep: Self.keep)
        for publisher in simulation.publishers {
            let device = publisher.plan.device
            let dates = (steps[device] ?? []).sorted()
            // Dates are the device's, whose clock may have been set back.
            let isOnce =
                simulation.counts.jumps > 0
                || zip(dates, dates.dropFirst()).allSatisfy { $1.seconds - $0.seconds > 0.2 }
            require(isOnce, "a step of \(device) counts twice")
            // The clocks of the device and this machine may differ by hours.
            let query = StepsQuery(
                device: device, from: WallTime(nanosecondsSince1970: MachineClock.start - Self.keep),
                to: WallTime(nanosecondsSince1970: MachineClock.start + Self.keep))
            let answered = try reader.answer(query, at: now.date).numberOfSteps
            require(
                answered == dates.count,
                "the history has \(answered) steps of \(device), and \(dates.count) were stored")
            // A detector that can't hear again the samples since it was stored begins anew, and misses a bout's first steps.
            let epochs = simulation.oracle.epochs[StreamName(device: device, stream: Self.stream)] ?? []
            let keepsAll =
                publisher.plan.retention >= 600_000_000_000
                && epochs.allSatisfy { $0.batches.allSatisfy { $0.forgotten == .max } }
            guard keepsAll, !hasGaps.contains(device), publisher.walkers.count == 1,
                let walker = publisher.walkers.first
            else { continue }
            require(
                dates.count == walker.steps.count,
                "\(device) made \(walker.steps.count) steps, and \(dates.count) count")
            simulation.counts.wholeWalks += 1
        }
    }
}
