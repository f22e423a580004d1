import MessageBus
import Messages
import ServiceKit
import StepCounterCore
import TestSupport
import Testing

/// A step counter, its history and its publishers in virtual time. The world carries out effects late and in random order, and
/// checks a step counter's guarantees after each.
final class CountingWorld {
    static let start = WallTime(seconds: 1_795_219_200)
    static let second: Int64 = 1_000_000_000

    /// The step counter's current work.
    private enum Work {
        case commit(StepCommit, WallTime)
        case removal(StepCounting.Removal)
    }

    /// Changes apply from the next start on.
    var settings: StepCounting.Settings
    private(set) var core: StepCounting
    private(set) var history: HistoryModel
    var walkers: [VirtualWalker] = []
    /// Nanoseconds since the start.
    private(set) var time: Int64 = 0
    /// How far this machine's date is ahead of the publishers', in nanoseconds.
    var skew: Int64 = 0
    /// Nanoseconds for which this machine slept while its monotonic clock stood still.
    var slept: Int64 = 0
    var isHistoryBroken = false
    /// Whether a subscription that began with the history, one for each device, must have the same steps as the history.
    var areTotalsExact = true

    private var work: Work?
    private var recoveries: [(stream: StreamName, missing: MissingSamples?)] = []
    private var topics: Set<String> = []
    private(set) var health: [String: String] = [:]
    private(set) var isLossReported = false

    // Of this run of the step-counter
    private(set) var events: [StepEvent] = []
    private var totals: [String: Int] = [:]
    private var delivered: [String: Set<Int>] = [:]
    private var lost: [String: Set<Int>] = [:]
    /// The first sample of each epoch that is not in the history.
    private var firstNew: [String: Int] = [:]
    // Of all runs
    /// All samples of each stream, dated by its publisher's clock.
    private var sampled: [StreamName: [(date: WallTime, epoch: String, index: Int)]] = [:]
    private var everDelivered: [String: Set<Int>] = [:]
    private var everLost: [String: Set<Int>] = [:]
    /// All publications and log entries of all runs, in order.
    private(set) var trace: [String] = []

    init(_ settings: StepCounting.Settings, devices: Int) {
        self.settings = settings
        let names = (0..<devices).map { "phone\($0)" }
        walkers = names.enumerated().map { VirtualWalker($1, uptime: 1_000 + 13 * Double($0)) }
        history = HistoryModel(
            subscriptions: names.map {
                StepSubscription(
                    id: $0, device: $0, updateOn: 7, startDate: Self.start, numberOfSteps: 0, lastDate: Self.start)
            })
        core = history.start(settings, at: Moment(monotonic: 0, date: Self.start))
    }

    var now: Moment {
        Moment(
            monotonic: time, date: WallTime(nanosecondsSince1970: Self.start.nanosecondsSince1970 + time + slept + skew)
        )
    }

    /// A clock reading that publishers send instead of the true one.
    var saidClock: ClockReading?

    /// A publisher's clocks: its uptime is 1,000 s at the start.
    private func clock(_ walker: VirtualWalker) -> ClockReading {
        if let saidClock { return saidClock }
        let seconds = Double(time + slept) / 1e9
        return ClockReading(
            uptime: 1_000 + seconds, date: WallTime(seconds: Self.start.seconds + seconds + walker.ahead))
    }

    func date(_ uptime: Double, ahead: Double = 0) -> WallTime {
        WallTime(nanosecondsSince1970: Self.start.nanosecondsSince1970 + Int64((uptime - 1_000 + ahead) * 1e9))
    }

    func wait(_ seconds: Double) { time += Int64(seconds * 1e9) }

    // MARK: Arriving messages

    /// Takes a publisher's next samples, and delivers them unless they are lost.
    func sample(_ index: Int, _ count: Int, isLost: Bool = false) {
        let samples = walkers[index].sample(count)
        let walker = walkers[index]
        for sample in samples {
            sampled[walker.name, default: []].append(
                (date(walker.uptime(sample), ahead: walker.ahead), walker.epoch, sample))
        }
        if !isLost { deliver(index, samples) }
    }

    /// Delivers samples, possibly again.
    func deliver(_ index: Int, _ samples: Range<Int>) {
        let walker = walkers[index]
        guard topics.contains("\(TopicArea.samples)\(walker.name)") else { return }
        let frames = walker.batch(samples, at: clock(walker))
        let topic = Array("\(TopicArea.samples)\(walker.name)".utf8)
        guard let counter = topic.withUnsafeBytes({ core.counter(of: $0) }) else { return }
        delivered[walker.epoch, default: []].formUnion(samples)
        everDelivered[walker.epoch, default: []].formUnion(samples)
        do {
            try frames[0].withUnsafeBytes { body in
                try frames[1].withUnsafeBytes { packed in
                    try core.take(ReceivedBatch(SampleBody(body), body, packed: packed), by: counter, at: now)
                }
            }
        } catch {
            Issue.record("a batch was refused: \(error)")
        }
        perform()
    }

    func describe(_ index: Int) {
        core.take(walkers[index].description(at: clock(walkers[index])), at: now)
        perform()
    }

    func tick() {
        core.tick(at: now)
        perform()
    }

    func commitNow(of device: String? = nil) -> Int {
        defer { perform() }
        return core.commitNow(of: device, at: now)
    }

    // MARK: Effects

    func perform() {
        for effect in core.takeEffects() {
            switch effect {
            case .commit(let commit, let date):
                #expect(work == nil, "one thing at a time is done to the history")
                work = .commit(commit, date)
            case .remove(let removal):
                #expect(work == nil, "one thing at a time is done to the history")
                work = .removal(removal)
            case .subscribe(let topic): topics.insert(topic)
            case .recover(let stream):
                #expect(!recoveries.contains { $0.stream == stream }, "a stream has one recovery")
                recoveries.append((stream, nil))
            case .notice(let notice): take(notice)
            }
        }
        #expect(core.pendingSteps <= settings.maximumPending)
        #expect(core.held.bytes < settings.holdLimit + 2_000)
    }

    private func take(_ notice: Notice) {
        switch notice {
        case .publish(let event): if let event = event as? StepEvent { take(event) }
        case .log(_, let message, let metadata):
            trace.append("\(message) \(metadata.sorted { $0.key < $1.key })")
        case .report(_, let sentence, let key, _): health[key] = sentence
        case .clear(let key): health[key] = nil
        case .malformed(let error): Issue.record("a message was refused: \(error)")
        case .lost: isLossReported = true
        }
    }

    private func take(_ event: StepEvent) {
        trace.append("\(event)")
        #expect(event.sequence == events.count { $0.device == event.device })
        events.append(event)
        if event.change == .update, let id = event.subscription, let total = event.numberOfSteps {
            #expect(total > totals[id] ?? 0, "totals grow")
            totals[id] = total
        }
        guard let gap = event.gap else { return }
        let samples = Set(gap.from..<gap.from + gap.count)
        #expect(lost[gap.epoch, default: []].isDisjoint(with: samples), "a sample is lost once")
        lost[gap.epoch, default: []].formUnion(samples)
        everLost[gap.epoch, default: []].formUnion(samples)
        guard let walker = walkers.first(where: { $0.epoch == gap.epoch }) else { return }
        #expect(gap.from >= firstNew[gap.epoch] ?? 0, "what was counted is not lost")
        if gap.reason == .notRetained {
            #expect(gap.from + gap.count <= walker.firstKept, "what its publisher keeps is counted")
        }
    }

    /// The number of removals.
    private(set) var removals = 0
    var isBusy: Bool { work != nil }
    var isRecovering: Bool { !recoveries.isEmpty }

    /// Ends the work on the history.
    func finishWork(isFailing: Bool) {
        guard let work else { return }
        self.work = nil
        let failure = isFailing || isHistoryBroken ? TestFailure("the disk is full") : nil
        switch work {
        case .commit(let commit, let date):
            if failure == nil { apply(commit, date) }
            core.committed(failure, at: now)
        case .removal(let removal):
            if failure == nil { history.remove(removal) }
            removals += 1
            core.removed(failure, at: now)
        }
        perform()
    }

    private func apply(_ commit: StepCommit, _ date: WallTime) {
        for (name, new) in commit.positions {
            guard let stored = history.positions[name]?.position, stored.epoch == new.epoch else { continue }
            #expect(new.next >= stored.next, "positions never decrease")
        }
        history.commit(commit, at: date)
        for (name, stored) in history.positions {
            let snapshot = stored.position.snapshot
            #expect(snapshot != nil, "\(name) has no detector")
            #expect(snapshot.map { $0.next <= stored.position.next } ?? true)
        }
        checkSpans()
        guard areTotalsExact else { return }
        for (id, subscription) in history.subscriptions where id == subscription.device {
            #expect(
                history.steps[id]?.count ?? 0 == subscription.numberOfSteps, "events equal what a query answers")
        }
    }

    /// After a kill, samples are requested again if they were given up after the history's last commit.
    private func forgetLosses(of epoch: String) {
        guard let walker = walkers.first(where: { epoch.hasPrefix("\($0.name)-") }) else { return }
        let number = { (epoch: String) in Int(epoch.dropFirst("\(walker.name)-".count)) ?? 0 }
        let stored = history.positions[walker.name]?.position
        if let stored, number(stored.epoch) > number(epoch) { return }
        let next = stored?.epoch == epoch ? stored?.next ?? 0 : 0
        everLost[epoch] = everLost[epoch]?.filter { $0 < next }
    }

    /// Checks that all samples that the history reports as counted arrived, and were not lost.
    private func checkSpans() {
        for (device, spans) in history.spans {
            let streams = sampled.filter { $0.key.device == device }.values
            for span in spans.values {
                #expect(span.start <= span.end)
                // To the microsecond: dates are computed from seconds.
                let dates =
                    WallTime(
                        seconds: span.start.seconds + 1e-4)...max(
                        WallTime(seconds: span.start.seconds + 1e-4), WallTime(seconds: span.end.seconds - 1e-4))
                // Each device is counted in one of its streams.
                let untrue = streams.map { samples in
                    samples.filter { dates.contains($0.date) }.first { sample in
                        everDelivered[sample.epoch]?.contains(sample.index) != true
                            || everLost[sample.epoch]?.contains(sample.index) == true
                    }
                }
                let isTrue = untrue.contains { $0 == nil }
                #expect(isTrue, "\(span) of \(device) claims samples that were not counted: \(untrue)")
            }
        }
    }

    /// The history's coverage of all samples of a device.
    func coverage(of device: String) -> Coverage? {
        let dates = sampled.filter { $0.key.device == device }.values.joined().map(\.date)
        guard let first = dates.min()?.seconds, let last = dates.max()?.seconds, first + 1e-3 < last else { return nil }
        return Coverage(
            of: WallTime(seconds: first + 1e-4)..<WallTime(seconds: last - 1e-4),
            in: history.spans[device, default: [:]].values.sorted { ($0.start, $0.number) < ($1.start, $1.number) })
    }

    /// Advances a recovery by one step: it requests missing samples, or receives a reply.
    /// - Parameters:
    ///   - reply: the largest number of samples in a reply, and of additional samples before them; nil if the publisher is
    ///     unreachable.
    func recover(reply: (size: Int, overlap: Int)?, using random: inout SplitMix) {
        guard !recoveries.isEmpty else { return }
        let index = Int.random(in: 0..<recoveries.count, using: &random)
        guard let missing = recoveries[index].missing else {
            recoveries[index].missing = core.missing(recoveries[index].stream, at: now)
            if recoveries[index].missing == nil { recoveries.remove(at: index) }
            return perform()
        }
        recoveries[index].missing = nil
        let request = missing.request
        let walker = walkers.first { $0.epoch == request.epoch }
        if let walker, let reply {
            let first = max(walker.firstKept, request.from - reply.overlap)
            let end = min(request.from + request.count, walker.count, max(first, request.from) + reply.size)
            var frames: [[UInt8]] = []
            for from in stride(from: first, to: end, by: 40) {
                let samples = from..<min(from + 40, end)
                delivered[walker.epoch, default: []].formUnion(samples)
                everDelivered[walker.epoch, default: []].formUnion(samples)
                frames += walker.batch(samples, at: clock(walker))
            }
            core.take(frames[...], count: max(0, end - first), for: request, at: now)
        } else {
            core.giveUp(request, reason: walker == nil ? .epochEnded : .publisherUnreachable, at: now)
        }
        perform()
    }

    // MARK: Runs

    /// Kills the step counter and starts it again.
    /// - Parameter isCommitDurable: whether a commit under way reaches the history.
    func kill(isCommitDurable: Bool) {
        if case .commit(let commit, let date) = work, isCommitDurable, !isHistoryBroken { apply(commit, date) }
        work = nil
        recoveries = []
        topics = []
        health = [:]
        events = []
        totals = [:]
        delivered = [:]
        lost = [:]
        for epoch in everLost.keys { forgetLosses(of: epoch) }
        core = history.start(settings, at: now)
        firstNew = [:]
        for stored in history.positions.values { firstNew[stored.position.epoch] = stored.position.next }
    }

    /// Stops the step counter as SIGTERM does, and starts it again.
    func restart(isFailing: Bool) {
        core.stop(at: now)
        perform()
        while work != nil { finishWork(isFailing: isFailing) }
        #expect(core.isOver)
        kill(isCommitDurable: false)
    }

    /// Runs without faults until no samples are missing and everything is committed.
    func settle(using random: inout SplitMix) {
        isHistoryBroken = false
        var rounds = 0
        repeat {
            for index in walkers.indices { describe(index) }
            for _ in 0..<20 { recover(reply: (500, 0), using: &random) }
            wait(1)
            tick()
            while work != nil { finishWork(isFailing: false) }
            rounds += 1
        } while rounds < 12 || (isRecovering && rounds < 1_000)
        #expect(!isRecovering, "nothing is missing in the end")
        #expect(core.pendingSteps == 0)
        #expect(health["publishers"] == nil)
        for walker in walkers {
            let position = history.positions[walker.name]?.position
            #expect(position?.epoch == walker.epoch && position?.next == walker.count, "everything is committed")
            let begin = firstNew[walker.epoch] ?? 0
            let silent = Set(begin..<max(begin, walker.count))
                .subtracting(delivered[walker.epoch] ?? []).subtracting(lost[walker.epoch] ?? [])
            #expect(silent.isEmpty, "each sample is counted, or lost and reported")
        }
    }
}
