import Messages
import RelayCore
import ServiceKit
import TestSupport

/// Machines with a lease, their servers and the network between them, in virtual time from a seed.
///
/// Each machine's clock has its own rate and origin. Requests and answers are lost or late, even after their time limit; programs
/// hang; recorders end by themselves. A guard ends a recorder at its deadline, even if everything else hangs.
struct LeaseWorld {
    /// Nanoseconds of true time between two steps of the simulation.
    static let step: Int64 = 20_000_000
    static let times = LeaseTimes(patience: 9_000_000_000)

    struct Recorder {
        var deadline: Int64
        /// When the recorder ends, in true time, if it was told to stop.
        var end: Int64?
    }

    struct Machine {
        var core: Leadership
        let rate: Double
        let origin: Int64
        var recorder: Recorder?
        /// Reports to deliver, with their true times.
        var reports: [(at: Int64, body: (Leadership, Int64) -> Void)] = []
        var hangsUntil: Int64 = 0
        var localTerm: Int?
        var starts = 0
        /// Whether the directory was prepared, and no recorder was started since.
        var isPrepared = false

        func clock(at time: Int64) -> Int64 { origin + Int64(Double(time) * rate) }
        func time(ofClock clock: Int64) -> Int64 { Int64(Double(clock - origin) / rate) }
    }

    private struct Delivery {
        let at: Int64
        let machine: Int
        let number: Int
        /// The value to write and the revision that it replaces; nil for a read.
        let write: (value: LeaseValue, revision: UInt64?)?
        let answerAt: Int64?
    }

    var random: SplitMix
    var machines: [Machine] = []
    private(set) var value: LeaseValue?
    private(set) var revision: UInt64?
    private var deliveries: [Delivery] = []
    private(set) var time: Int64 = 0
    /// The largest number of recorders that ran at the same true time.
    private(set) var mostAtOnce = 0
    /// Whether a stored session disappeared.
    private(set) var hasLostASession = false
    /// Whether a machine set its sessions aside though no other run had taken the lease since it recorded, or kept them though
    /// another machine had recorded since.
    private(set) var hasMisjudgedADirectory = false
    /// Whether the first recorder of a term was not asked to continue a session of the lease.
    private(set) var hasForgottenASession = false
    /// The machine and run that took the lease, by term.
    private var instances: [Int: String] = [:]
    /// The machine that recorded, by term.
    private var recorded: [Int: Int] = [:]
    /// The true time after which nothing fails.
    var calmAt = Int64.max

    init(seed: UInt64, machines count: Int) {
        random = SplitMix(seed: seed)
        for index in 0..<count {
            let rate = 1 + Double.random(in: -0.04...0.04, using: &random)
            let origin = Int64.random(in: 0...1_000_000_000_000, using: &random)
            machines.append(
                Machine(
                    core: Leadership(
                        Self.times, holder: "m\(index)", instance: "m\(index)/0", localTerm: nil, at: origin),
                    rate: rate, origin: origin))
        }
    }

    private var isCalm: Bool { time >= calmAt }

    private mutating func happens(_ probability: Double) -> Bool {
        !isCalm && Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func delay(upTo most: Int64) -> Int64 { Int64.random(in: 0...most, using: &random) }

    mutating func run(until end: Int64) {
        while time < end {
            time += Self.step
            endRecorders()
            deliver()
            for index in machines.indices { turn(of: index) }
            mostAtOnce = max(mostAtOnce, machines.count { $0.recorder != nil })
        }
    }

    private mutating func endRecorders() {
        for index in machines.indices {
            guard let recorder = machines[index].recorder else { continue }
            let isOver =
                machines[index].clock(at: time) >= recorder.deadline || recorder.end.map { time >= $0 } == true
            if isOver || happens(0.000_05) { endRecorder(of: index) }
        }
    }

    private mutating func endRecorder(of index: Int) {
        machines[index].recorder = nil
        machines[index].reports.append((time + delay(upTo: 50_000_000), { core, now in core.ended("ended", at: now) }))
    }

    private mutating func deliver() {
        let due = deliveries.filter { $0.at <= time }
        deliveries.removeAll { $0.at <= time }
        for delivery in due.sorted(by: { $0.at < $1.at }) {
            let answer: Leadership.Answer
            if let write = delivery.write {
                if write.revision == revision {
                    let known = Set((value?.sessions ?? []).map(\.session))
                    if !known.isSubset(of: write.value.sessions.map(\.session)) { hasLostASession = true }
                    value = write.value
                    instances[write.value.term] = write.value.instance
                    revision = (revision ?? 0) + 1
                    answer = .stored(revision: revision ?? 0)
                } else {
                    answer = .conflict
                }
            } else if let value, let revision {
                answer = .value(value, revision: revision)
            } else {
                answer = .absent(revision: nil)
            }
            guard let at = delivery.answerAt else { continue }
            machines[delivery.machine].reports.append(
                (at, { core, now in core.answered(answer, to: delivery.number, at: now) }))
        }
    }

    private mutating func turn(of index: Int) {
        if happens(0.000_2) { machines[index].hangsUntil = time + delay(upTo: 30_000_000_000) }
        guard time >= machines[index].hangsUntil else { return }
        if happens(0.000_05) { restart(index) }
        let now = machines[index].clock(at: time)
        let due = machines[index].reports.filter { $0.at <= time }
        machines[index].reports.removeAll { $0.at <= time }
        for report in due.sorted(by: { $0.at < $1.at }) {
            report.body(machines[index].core, now)
            carryOut(index)
        }
        if machines[index].core.nextTime <= now {
            machines[index].core.wake(at: now)
            carryOut(index)
        }
        if machines[index].core.isRecording, !machines[index].core.knows("s"), value?.sessions.isEmpty != false {
            machines[index].core.note(SessionPlan(start: RecordingStart(session: "s", streams: ["*"])), at: now)
        }
    }

    /// The program restarts. Its recorder ends with it.
    private mutating func restart(_ index: Int) {
        let now = machines[index].clock(at: time)
        machines[index].recorder = nil
        machines[index].isPrepared = false
        machines[index].reports = []
        machines[index].core = Leadership(
            Self.times, holder: "m\(index)", instance: "m\(index)/\(time)", localTerm: machines[index].localTerm,
            at: now)
    }

    private mutating func carryOut(_ index: Int) {
        let effects = machines[index].core.takeEffects()
        for effect in effects {
            switch effect {
            case .read(let number): send(index, number, nil)
            case .write(let value, let revision, let number): send(index, number, (value, revision))
            case .prepare(let term, let setsAside):
                judge(setsAside, in: term, index)
                machines[index].localTerm = term
                machines[index].isPrepared = true
                machines[index].reports.append(
                    (time + delay(upTo: 300_000_000), { core, now in core.prepared(term, failure: nil, at: now) }))
            case .start(let deadline):
                machines[index].starts += 1
                if machines[index].isPrepared { checkContinuations(effects, index) }
                machines[index].isPrepared = false
                guard machines[index].clock(at: time) < deadline else {
                    endRecorder(of: index)
                    continue
                }
                machines[index].recorder = Recorder(deadline: deadline)
            case .extend(let deadline): machines[index].recorder?.deadline = deadline
            case .terminate:
                let end = time + delay(upTo: 3_000_000_000)
                machines[index].recorder?.end = end
            case .kill: if machines[index].recorder != nil { endRecorder(of: index) }
            case .continue(let continuation):
                machines[index].reports.append(
                    (time, { core, now in core.continued(continuation, .running, at: now) }))
            case .plan, .notice: continue
            }
        }
    }

    private mutating func checkContinuations(_ effects: [Leadership.Effect], _ index: Int) {
        let continued = effects.compactMap { effect -> String? in
            guard case .continue(let continuation) = effect else { return nil }
            return continuation.plan.session
        }
        if continued != machines[index].core.sessions.map(\.session) { hasForgottenASession = true }
    }

    private mutating func judge(_ setsAside: Bool, in term: Int, _ index: Int) {
        let since = (machines[index].localTerm ?? 0) + 1
        let taken = instances.filter { since <= $0.key && $0.key < term }
        let isOlder = recorded.contains { since <= $0.key && $0.value != index }
        let isOwn = taken.allSatisfy { $0.value == instances[term] }
        let isWrong = setsAside ? isOwn : isOlder
        if isWrong { hasMisjudgedADirectory = true }
        recorded[term] = index
    }

    private mutating func send(_ index: Int, _ number: Int, _ write: (value: LeaseValue, revision: UInt64?)?) {
        let limit = machines[index].time(ofClock: machines[index].clock(at: time) + Self.times.answer)
        // A temporary network split loses all requests of one machine.
        let isSplit = !isCalm && (time / 20_000_000_000 + Int64(index)) % 7 == 0
        let isLate = happens(0.02)
        let at = time + delay(upTo: isLate ? 15_000_000_000 : 30_000_000)
        let answerAt = at + delay(upTo: 30_000_000)
        let isAnswered = !isSplit && !happens(0.05) && answerAt < limit
        if !isSplit, !happens(0.03) {
            deliveries.append(
                Delivery(
                    at: at, machine: index, number: number, write: write, answerAt: isAnswered ? answerAt : nil))
            if isAnswered { return }
        }
        machines[index].reports.append(
            (limit, { core, now in core.answered(.unknown("no answer"), to: number, at: now) }))
    }
}
