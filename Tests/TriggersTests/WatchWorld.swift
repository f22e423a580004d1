import MessageBus
import Messages
import Recording
import ServiceKit
import TestSupport
import Testing
import Triggers

/// A watch, a publisher and a recorder in virtual time. Batches are lost in transit, replays and the recorder's answers come
/// late, as a seed decides.
final class WatchWorld {
    /// A session as the recorder knows it.
    struct Session {
        let name: String
        let from: Int64
        /// When the recorder ends the session by itself.
        var limit: Int64
        /// When the session ended; nil while it runs.
        var end: Int64?
    }

    static let second: Int64 = 1_000_000_000
    static let start: Int64 = 1_795_219_200 * second
    static let stream = StreamName(device: "left-wrist", stream: "accelerometer")
    static let rate: Int64 = 100
    private static let batch = 10
    private static let uptime = 1_000.0

    private let core: TriggerWatch
    /// Records the sessions; nil if only their times matter.
    private let recorder: WatchedRecorder?
    private var random: SplitMix
    /// When the wearer falls, in order: the first sample from then on is large.
    private let falls: [Int64]
    /// The share of batches lost in transit, in percent.
    private let lossPercent: Int
    /// The longest delay of the recorder's answers.
    private let longestAnswer: Int64
    /// Nanoseconds since the start.
    private(set) var time: Int64 = 0
    private var next = 0
    private var nextFall = 0
    private var epoch = "first"
    private var unit: String?
    private var values: [Double] = []
    private(set) var sessions: [Session] = []
    /// The time ranges that the session with a ring keeps.
    private(set) var kept: [(from: Int64, to: Int64)] = []
    private(set) var lines: [String] = []
    private(set) var isLossTold = false
    /// Later events: an answer of the recorder, or a replay.
    private var work: [(time: Int64, body: () -> Void)] = []
    private var isRequesting = false
    private var requests: [TriggerWatch.Effect] = []

    init(
        _ expressions: [String], before: Int64, after: Int64, falls: [Int64], lossPercent: Int = 0,
        longestAnswer: Int64 = second / 10, seed: UInt64 = 1, ring: String? = nil,
        recorder: WatchedRecorder? = nil, unit: String? = "m/s2"
    ) throws {
        core = TriggerWatch(
            try expressions.map { try TriggerExpression(typed: $0) }, before: before, after: after, prefix: "fall",
            number: 0, ring: ring)
        self.falls = falls
        self.lossPercent = lossPercent
        self.longestAnswer = longestAnswer
        random = SplitMix(seed: seed)
        self.recorder = recorder
        self.unit = unit
        recorder?.describe = { [unowned self] in [description] }
        recorder?.recover = { [unowned self] session, stream in replay(stream, in: session) }
        describe()
    }

    var now: Moment {
        Moment(monotonic: 77 * Self.second + time, date: WallTime(nanosecondsSince1970: Self.start + time))
    }

    private var clock: ClockReading {
        ClockReading(uptime: Self.uptime + Double(time) / 1e9, date: now.date)
    }

    /// Samples until a time, and carries out all events until then.
    func run(until end: Int64) {
        let interval = Self.second * Int64(Self.batch) / Self.rate
        while time < end {
            step(to: min(end, time + interval))
            sample()
            if next.isMultiple(of: Int(Self.rate)) { describe() }
        }
    }

    /// Lets time pass without a sample.
    func step(to end: Int64) {
        while true {
            let deadline = min(core.nextDeadline, recorder?.nextDeadline ?? .max)
            let due = min(deadline - 77 * Self.second, work.map(\.time).min() ?? .max)
            let limits = sessions.filter { $0.end == nil }.map(\.limit).min() ?? .max
            let at = max(time, min(due, limits))
            guard at <= end else { break }
            time = at
            for index in sessions.indices where sessions[index].end == nil && sessions[index].limit <= time {
                sessions[index].end = sessions[index].limit
            }
            if let index = work.firstIndex(where: { $0.time <= time }) {
                work.remove(at: index).body()
            } else {
                core.wake(at: now)
                recorder?.wake(at: now)
            }
            perform()
        }
        time = end
    }

    private var description: StreamDescription {
        StreamDescription(
            source: "publisher", sequence: 0, device: Self.stream.device, stream: Self.stream.stream, epoch: epoch,
            state: .running, fields: ["uptime", "x", "y", "z"], unit: unit, rate: Double(Self.rate), packed: true,
            nextSequence: next, replay: "tcp://127.0.0.1:5551", clock: clock)
    }

    func describe() {
        core.take(description, at: now)
        recorder?.take(description, at: now)
        perform()
    }

    /// Restarts the publisher, which no longer has its earlier samples.
    func restart(unit: String?) {
        epoch += ", then another"
        self.unit = unit
        next = 0
        values = []
        describe()
    }

    private func sample() {
        for index in 0..<Self.batch {
            let at = time - Self.second * Int64(Self.batch - 1 - index) / Self.rate
            let isFall = nextFall < falls.count && falls[nextFall] <= at
            if isFall { nextFall += 1 }
            values += [Self.uptime + Double(at) / 1e9, 0, isFall ? -40 : 3, isFall ? 30 : 9]
        }
        let first = next
        next += Self.batch
        // The watch and the recorder lose different batches.
        let isWatched = Int.random(in: 0..<100, using: &random) >= lossPercent
        let isRecorded = recorder != nil && Int.random(in: 0..<100, using: &random) >= lossPercent
        if isWatched || isRecorded { deliver(first..<next, isWatched: isWatched, isRecorded: isRecorded) }
    }

    private func encoded(_ samples: Range<Int>) -> [[UInt8]] {
        let encoder = SampleBatchEncoder(
            source: "publisher", device: Self.stream.device, stream: Self.stream.stream, epoch: epoch,
            fields: ["uptime", "x", "y", "z"], isPacked: true)
        var body = ByteBuffer(capacity: 512)
        var packed = ByteBuffer(capacity: 512)
        Array(values[(4 * samples.lowerBound)..<(4 * samples.upperBound)]).withUnsafeBufferPointer { rows in
            encoder.encode(
                sequence: samples.lowerBound, count: samples.count, clock: clock, rows: rows, into: &body)
            encoder.encodePacked(rows, into: &packed)
        }
        return [body.withUnsafeBytes { Array($0) }, packed.withUnsafeBytes { Array($0) }]
    }

    private func deliver(_ samples: Range<Int>, isWatched: Bool, isRecorded: Bool) {
        let frames = encoded(samples)
        do {
            try frames[0].withUnsafeBytes { body in
                try frames[1].withUnsafeBytes { packed in
                    let batch = try ReceivedBatch(SampleBody(body), body, packed: packed)
                    if isWatched { try core.take(batch, of: Self.stream, published: now.date, at: now) }
                    if isRecorded { recorder?.take(batch, of: Self.stream, published: now.date, at: now) }
                }
            }
        } catch {
            Issue.record("a batch was refused: \(error)")
        }
        perform()
    }

    // MARK: Effects

    private func later(_ longest: Int64, _ body: @escaping () -> Void) {
        work.append((time + Int64.random(in: 0...longest, using: &random), body))
    }

    private func perform() {
        for effect in core.takeEffects() {
            switch effect {
            case .recover: replay()
            case .start, .extend:
                requests.append(effect)
                answerNext()
            case .stop(let name):
                later(longestAnswer) { [self] in
                    let index = sessions.firstIndex { $0.name == name }
                    if let index, sessions[index].end == nil { sessions[index].end = time }
                    guard let recorder else { return core.stopped(name, .success(Self.result(of: name)), at: now) }
                    attempt {
                        try recorder.stop(name, at: now) { [self] report in
                            core.stopped(name, .success(Self.result(of: name, report)), at: now)
                            perform()
                        }
                    }
                }
            case .keep(let from, let to):
                later(longestAnswer) { [self] in
                    kept.append((from.nanosecondsSince1970 - Self.start, to.nanosecondsSince1970 - Self.start))
                    core.kept(.success(RecordingKeep.Reply(session: "always", from: from, to: to, files: [])), at: now)
                }
            case .say(let line): lines.append(line)
            case .notice(.lost): isLossTold = true
            case .notice: break
            }
        }
    }

    /// Requests are answered in succession.
    private func answerNext() {
        guard !isRequesting, !requests.isEmpty else { return }
        isRequesting = true
        let request = requests.removeFirst()
        later(longestAnswer) { [self] in
            isRequesting = false
            switch request {
            case .start(let name, let from, let until):
                sessions.append(
                    Session(
                        name: name, from: from.nanosecondsSince1970 - Self.start,
                        limit: max(time, until.nanosecondsSince1970 - Self.start)))
                attempt { try recorder?.start(name, from: from, until: until, at: now) }
                core.started(name, failure: nil, at: now)
            case .extend(let name, let until):
                let index = sessions.firstIndex { $0.name == name && $0.end == nil }
                if let index {
                    sessions[index].limit = max(sessions[index].limit, until.nanosecondsSince1970 - Self.start)
                    attempt {
                        let isExtended = try recorder?.extend(name, until: until, at: now)
                        #expect(isExtended != false)
                    }
                }
                core.extended(name, isRunning: index != nil, at: now)
            default: break
            }
            answerNext()
        }
    }

    private func replay() {
        later(Self.second) { [self] in
            guard let missing = core.missing(Self.stream, at: now) else { return perform() }
            let request = missing.request
            let end = min(next, request.from + min(request.count, 200))
            core.take(encoded(request.from..<end)[...], count: end - request.from, for: request, at: now)
            perform()
            replay()
        }
    }

    /// Replays the recorder's missing samples.
    private func replay(_ stream: StreamName, in session: SessionIdentifier) {
        later(Self.second / 5) { [self] in
            guard let recorder, let missing = recorder.missing(stream, in: session, at: now) else { return }
            let request = missing.request
            let end = max(request.from, min(next, request.from + min(request.count, 500)))
            let isMissing = recorder.take(
                encoded(request.from..<end)[...], count: end - request.from, for: request, in: session, at: now)
            if isMissing { replay(stream, in: session) }
        }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record("the recorder refuses: \(error)") }
    }

    /// A person ends the running sessions.
    func endSessions() {
        for index in sessions.indices where sessions[index].end == nil { sessions[index].end = time }
    }

    private static func result(of session: String, _ report: SessionReport? = nil) -> RecordingResult {
        RecordingResult(
            session: session, status: "finished",
            report: report
                ?? SessionReport(
                    session: session, task: "", status: "finished", startDate: WallTime(nanosecondsSince1970: start),
                    endDate: WallTime(nanosecondsSince1970: start), streams: [],
                    commitLatency: SessionReport.Latency(count: 0, median: 0, p99: 0, maximum: 0), failures: []),
            directory: "/data/recordings/\(session)", logs: [])
    }

    func stop() {
        core.stop(at: now)
        perform()
        step(to: time + 2 * longestAnswer + 60 * Self.second)
    }

    /// Ends the watch without waiting for answers.
    func giveUp() {
        core.stop(at: now)
        core.giveUpUnconfirmed()
        perform()
    }

    var isIdle: Bool { core.isIdle }
}
