import MessageBus
import Messages
import PublisherCore
import SampleSources
import ServiceKit

/// A sensor-publisher in virtual time: all decisions of the real one, on a machine with its own clocks.
final class SimulatedPublisher {
    struct Plan {
        var device: String
        var streams: Int
        /// Samples per second, and per batch.
        var rate: Double
        var batch: Int
        var isPacked: Bool
        /// How long batches are kept, in nanoseconds, and at most how many bytes of them.
        var retention: Int64
        var retentionBytes: Int
        /// Whether the first stream is that of a person who walks.
        var isWalk: Bool
    }

    enum Event {
        case samples(Batch)
        case description(StreamDescription)
    }

    /// A batch in its wire form.
    struct Batch {
        let topic: [UInt8]
        let body: [UInt8]
        /// The matrix; nil if the body has the values.
        let packed: [UInt8]?
        let time: [UInt8]

        func withFrames(_ take: (EventFrames) throws -> Void) rethrows {
            try topic.withUnsafeBytes { topic in
                try body.withUnsafeBytes { body in
                    try time.withUnsafeBytes { time in
                        guard let packed else { return try take(EventFrames(topic: topic, body: body, time: time)) }
                        try packed.withUnsafeBytes { packed in
                            try take(EventFrames(topic: topic, body: body, time: time, packed: packed))
                        }
                    }
                }
            }
        }
    }

    /// A kept batch, for the calculation of kept bytes.
    private struct Kept {
        let stream: Int
        let batch: Int
        let bytes: Int
    }

    let plan: Plan
    let endpoint: String
    let names: [StreamName]
    var clock: MachineClock
    private let simulation: Simulation
    private let number: Int
    private var core: Publication?
    private(set) var epoch = ""
    /// The life of the process: closures scheduled by an earlier life are dropped.
    private(set) var life = 0
    /// The number of effects before the program ends; nil for no end.
    private var effectsLeft: Int?
    private var sources: [ProbeSource] = []
    private var effects: [Publication.Effect] = []
    private var rows = SourceRows()
    private var body = ByteBuffer(capacity: 1 << 12)
    private var kept: [Kept] = []
    private var firstKept = 0
    private var keptBytes = 0
    /// The last batch of each stream.
    private var lastBatches: [RowBatch?] = []
    /// The walker of each run.
    private(set) var walkers: [Walker] = []
    private var questions: [Int: ([StreamDescription]) -> Void] = [:]
    private var lastQuestion = 0

    /// When the core is called next, on the monotonic clock, and which scheduled call will do it.
    private var wakeTime = Int64.max
    private var driver = 0

    init(_ plan: Plan, number: Int, clock: MachineClock, of simulation: Simulation) {
        self.plan = plan
        self.number = number
        self.clock = clock
        self.simulation = simulation
        endpoint = "tcp://10.0.0.\(number + 1):5551"
        names = (0..<plan.streams).map { StreamName(device: plan.device, stream: "sensor-\($0)") }
    }

    var isRunning: Bool { core != nil }

    /// Whether the publisher can answer now.
    var isAwake: Bool { core != nil && clock.sleep == nil }

    private var moment: Moment { clock.moment(at: simulation.now) }

    // MARK: Life

    func start(epoch: String) throws {
        life += 1
        self.epoch = epoch
        let epochNumber = simulation.oracle.epochs[names[0]]?.count ?? 0
        sources = names.indices.map {
            ProbeSource(rate: plan.rate, epoch: epochNumber, isWalk: plan.isWalk && $0 == 0)
        }
        walkers.append(Walker())
        let streams = try names.enumerated().map { index, name in
            try PublishedStream(
                StreamConfiguration(
                    device: name.device, stream: name.stream, source: .signal("sine"), rate: plan.rate,
                    batch: plan.batch, isPacked: plan.isPacked), source: sources[index], at: index, epoch: epoch)
        }
        for name in names { simulation.oracle.begin(name, Oracle.Epoch(name: epoch)) }
        let core = Publication(
            Publication.Settings(
                retention: plan.retention, retentionBytes: plan.retentionBytes, startsStopped: false),
            streams: streams, epoch: epoch,
            sleepWatch: SleepWatch(elapsed: clock.elapsed(at: simulation.now), uptime: moment.monotonic))
        self.core = core
        (kept, firstKept, keptBytes, effectsLeft, questions) = ([], 0, 0, nil, [:])
        lastBatches = Array(repeating: nil, count: names.count)
        wakeTime = .max
        core.begin(replayEndpoint: endpoint, at: moment)
        perform()
    }

    func kill() {
        core = nil
        let slept = clock.slept(until: simulation.now)
        for name in names { simulation.oracle.end(name, at: simulation.now, slept: slept) }
    }

    /// Publishes what is due, and then no more samples. Kept samples are still replayed.
    func finish() {
        look()
        core?.finish(at: moment)
        perform()
    }

    /// Stops the publisher for good.
    func fallSilent() { core = nil }

    /// Ends the program during its next effects: batches that belong together may be published in part.
    func kill(after effects: Int) { effectsLeft = effects }

    // MARK: Driving

    private func drive(_ driver: Int) {
        guard driver == self.driver else { return }
        // No other call is needed meanwhile.
        wakeTime = .min
        while let core, core.nextDeadline <= moment.monotonic {
            look()
            core.wake(at: moment)
            perform()
        }
        wakeTime = .max
        plan(wake: core)
    }

    private func look() { core?.notice(elapsed: clock.elapsed(at: simulation.now), at: moment) }

    /// Carries out the effects. Call it after every call of the core.
    private func perform() {
        var effects: [Publication.Effect] = []
        swap(&effects, &self.effects)
        while let core, core.takeEffects(into: &effects) {
            for effect in effects {
                if effectsLeft == 0 { return simulation.publisherEnded(number) }
                effectsLeft = effectsLeft.map { $0 - 1 }
                perform(effect, core)
            }
            effects.removeAll(keepingCapacity: true)
        }
        swap(&effects, &self.effects)
        plan(wake: core)
    }

    private func plan(wake core: Publication?) {
        guard let core, core.nextDeadline < wakeTime else { return }
        wakeTime = core.nextDeadline
        driver += 1
        simulation.at(clock.time(of: wakeTime)) { [self, life, driver] in
            guard self.life == life, isRunning else { return }
            try simulation.whenAwake(number) { [self] in
                if self.life == life, isRunning { drive(driver) }
            }
        }
    }

    private func perform(_ effect: Publication.Effect, _ core: Publication) {
        switch effect {
        case .read(let stream, let count):
            sources[stream.index].read(count, into: &rows)
            core.take(&rows, of: stream, at: moment)
        case .rewind(let stream):
            sources[stream.index].rewind()
            core.rewound(stream, nil, at: moment)
        case .publish(let batch, let stream, let reading): publish(batch, of: stream, reading)
        case .describe(let description, _):
            simulation.send(.description(description), of: number)
        case .answer(let question, .success(.streams(let descriptions))):
            questions.removeValue(forKey: question)?(descriptions)
        case .notice(.log(_, let message, let metadata)):
            let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            simulation.note("\(plan.device): \(message) \(details.joined(separator: " "))")
        case .answer, .acknowledge, .notice, .finished: break
        }
    }

    private func publish(_ batch: RowBatch, of stream: PublishedStream, _ reading: ClockReading) {
        let name = names[stream.index]
        let published = simulation.oracle.note(name, batch, at: simulation.now, slept: clock.slept)
        if let violation = published.violation { simulation.violate(violation) }
        simulation.counts.published += batch.count
        keep(batch, published.number, of: stream.index)
        if plan.isWalk, stream.index == 0 {
            for row in stride(from: 0, to: batch.rows.count, by: batch.columns) {
                walkers[walkers.count - 1].hear(uptime: batch.rows[row], magnitude: batch.rows[row + 3])
            }
        }
        simulation.send(.samples(wireBatch(withAgain(batch, of: stream.index), stream, reading)), of: number)
    }

    /// A batch, sometimes with the samples of its predecessor in front: listeners must leave out those that they have.
    private func withAgain(_ batch: RowBatch, of stream: Int) -> RowBatch {
        defer { lastBatches[stream] = batch }
        guard simulation.sendsAgain(), let last = lastBatches[stream] else { return batch }
        return RowBatch(
            firstSequence: last.firstSequence, count: last.count + batch.count, rows: last.rows + batch.rows)
    }

    private func wireBatch(_ batch: RowBatch, _ stream: PublishedStream, _ reading: ClockReading) -> Batch {
        body.removeAll()
        stream.encode(batch, clock: reading, into: &body)
        let text = body.withUnsafeBytes { Array($0) }
        var packed: [UInt8]?
        if stream.isPacked {
            body.removeAll()
            stream.encodePacked(batch, into: &body)
            packed = body.withUnsafeBytes { Array($0) }
        }
        return Batch(topic: stream.topic, body: text, packed: packed, time: EventTime.text(of: moment.date))
    }

    /// Notes how long a batch must be kept.
    private func keep(_ batch: RowBatch, _ number: Int, of stream: Int) {
        let bytes = batch.rows.count * MemoryLayout<Double>.stride + RetentionBuffer.overhead
        kept.append(Kept(stream: stream, batch: number, bytes: bytes))
        keptBytes += bytes
        while keptBytes > plan.retentionBytes {
            let oldest = kept[firstKept]
            simulation.oracle.forget(oldest.batch, of: names[oldest.stream], at: simulation.now)
            keptBytes -= oldest.bytes
            firstKept += 1
        }
        guard firstKept > 1_000 else { return }
        kept.removeFirst(firstKept)
        firstKept = 0
    }

    // MARK: Requests

    /// Answers `streams.list` at once.
    func list() -> [StreamDescription] {
        guard let core else { return [] }
        lastQuestion += 1
        var answer: [StreamDescription] = []
        questions[lastQuestion] = { answer = $0 }
        look()
        core.list(StreamsList(), as: lastQuestion, at: moment)
        perform()
        return answer
    }

    /// Answers `samples.replay`, with a reply and its frames, or an error.
    func answer(_ request: SamplesReplay) -> (answer: ReplaySchedule.Answer, frames: [[UInt8]])? {
        guard let core else { return nil }
        look()
        perform()
        do throws(RequestError) {
            var replay = try core.beginReplay(request)
            while !replay.isComplete { core.findNext(of: &replay, at: moment) }
            // The answer is encoded meanwhile.
            simulation.later(0...20_000_000) { [self, life] in
                if self.life == life { core.endReplay() }
            }
            let (reply, frames) = try replay.reply()
            return (.reply(reply, frameCount: frames.count), frames)
        } catch {
            return (.refusal(error), [])
        }
    }
}
