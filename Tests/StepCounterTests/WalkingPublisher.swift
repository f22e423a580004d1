import MessageBus
import Messages
import SampleSources
import ServiceKit
import StepDetection
import Synchronization
import ZeroMQ

/// A scripted sensor publisher: it samples a person who walks and stands, at 50 Hz in g, as fast as a test requests, and can lose
/// batches in transit.
final class WalkingPublisher: Sendable {
    struct State {
        /// All samples of the epoch: the uptime, and three axes.
        var rows: [[Double]] = []
        /// The number of published or lost samples; a description mentions no others.
        var published = 0
        /// The duration of the current walk.
        var walked = 0.0
        var fields = ["uptime", "x", "y", "z"]
        /// How far the wall clock is ahead of the true time, in seconds.
        var ahead = 0.0
        /// The largest number of samples in a reply.
        var replySize = 1_000
        var replaysAsked = 0
        /// Whether the stream's description is withheld.
        var isSilent = false
    }

    static let rate = 50.0

    let name = StreamName(device: "phone", stream: "accelerometer")
    let isPacked: Bool
    /// The PUB socket's endpoint.
    let endpoint: String
    private let state = Mutex(State())
    private let events: EventPublisher
    private let server: Mutex<ReplyServer?> = Mutex(nil)
    private let walk: WalkSignal
    /// The uptime of the first sample.
    private let start: Double

    /// - Parameter delay: seconds from now to the first sample: later than anything a test does, because a subscription
    ///   only counts samples taken after its start.
    init(
        isPacked: Bool = false, delay: Double = 120
    ) async throws {
        start = Double(MonotonicClock.now / 1_000_000) / 1e3 + delay
        self.isPacked = isPacked
        walk = try WalkSignal(placement: .pocket)
        let context = try Context()
        let thread = try SocketThread(name: "publisher")
        var options = SocketOptions.publishing
        // Minutes of samples are published at once, and the socket must not drop any.
        options.sendHighWaterMark = 100_000
        (events, endpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: context, thread: thread, options: options)
        var router = RequestRouter()
        router.onWithFrames(SamplesReplay.self) { [weak self] request in
            guard let self else { throw CancellationError() }
            self.set { $0.replaysAsked += 1 }
            return try self.answer(request)
        }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: context, thread: thread)
        self.server.withLock { $0 = server }
    }

    /// Answers requests, and describes the stream more often than a real publisher, until the task is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await self.server.withLock { $0 }?.run() }
            tasks.addTask {
                while true {
                    if !self.state.withLock({ $0.isSilent }) { try self.describe() }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            try await tasks.next()
        }
    }

    /// When the first sample is taken, by this machine's wall clock, in seconds since 1970.
    var startDate: Double { WallTime.now.seconds + start - Double(MonotonicClock.now) / 1e9 }
    /// The REP socket's endpoint.
    var replyEndpoint: String { server.withLock { $0?.endpoint } ?? "" }
    /// The number of samples in the epoch.
    var count: Int { state.withLock { $0.rows.count } }
    /// The number of requested replays.
    var replaysAsked: Int { state.withLock { $0.replaysAsked } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    // MARK: Sampling

    /// Samples a person who continues to walk, and publishes.
    /// - Parameters:
    ///   - batch: samples in a message.
    ///   - isLost: whether the messages are lost in transit.
    func walk(seconds: Double, batch: Int = 10, isLost: Bool = false) throws {
        try sample(seconds, batch: batch, isLost: isLost) { state in
            state.walked += 1 / Self.rate
            return state.walked
        }
    }

    /// Samples a person who stands, and publishes.
    func stand(seconds: Double, batch: Int = 10, isLost: Bool = false) throws {
        try sample(seconds, batch: batch, isLost: isLost) { state in
            state.walked = 0
            return 0
        }
    }

    private func sample(
        _ seconds: Double, batch: Int, isLost: Bool, _ time: (inout State) -> Double
    ) throws {
        let range = state.withLock { state in
            let first = state.rows.count
            for index in first..<first + Int((seconds * Self.rate).rounded()) {
                let motion = walk.motion(at: time(&state), index: Int64(index))
                let force = motion.acceleration
                state.rows.append([start + Double(index) / Self.rate, force.x, force.y, force.z])
            }
            return first..<state.rows.count
        }
        if !isLost { try publish(range, batch: batch) }
        state.withLock { $0.published = range.upperBound }
    }

    /// Publishes samples, possibly again.
    func publish(_ samples: Range<Int>, batch: Int = 10) throws {
        var messages = MessageBatch()
        for first in stride(from: samples.lowerBound, to: samples.upperBound, by: batch) {
            let (body, packed) = self.batch(first..<min(first + batch, samples.upperBound))
            messages.append(
                topic: Array("\(TopicArea.samples)\(name)".utf8), body: body, packed: packed,
                time: EventTime.text(of: .now))
        }
        try events.publish(messages)
    }

    /// The uptimes of the steps that a detector finds.
    func expectedSteps() -> [Double] {
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        var steps: [Double] = []
        for row in state.withLock({ $0.rows }) {
            detector.add(time: row[0], x: row[1], y: row[2], z: row[3]) { event in
                if case .step(let step) = event { steps.append(step.time) }
            }
        }
        return steps
    }

    // MARK: Answers

    /// Answers as a correct publisher does.
    func answer(_ request: SamplesReplay) throws -> (SamplesReplay.Reply, [[UInt8]]) {
        let (kept, size) = state.withLock { (0..<$0.rows.count, $0.replySize) }
        let wanted = kept.clamped(to: request.from..<request.from + min(request.count, 1 << 40)).prefix(size)
        var frames: [[UInt8]] = []
        for start in stride(from: wanted.startIndex, to: wanted.endIndex, by: 50) {
            let (body, packed) = batch(start..<min(start + 50, wanted.endIndex))
            frames.append(body)
            if let packed { frames.append(packed) }
        }
        return (
            SamplesReplay.Reply(
                from: wanted.isEmpty ? request.from : wanted.startIndex, count: wanted.count, first: kept.lowerBound,
                last: kept.upperBound - 1), frames
        )
    }

    /// Publishes the stream's description.
    func describe() throws { try events.publish(description) }

    var description: StreamDescription {
        let state = state.withLock { $0 }
        return StreamDescription(
            source: "fake", sequence: 0, device: name.device, stream: name.stream, epoch: "epoch", state: .running,
            fields: state.fields, unit: "g", packed: isPacked, nextSequence: state.published,
            replay: replyEndpoint, clock: clock(state))
    }

    private func batch(_ samples: Range<Int>) -> (body: [UInt8], packed: [UInt8]?) {
        let state = state.withLock { $0 }
        let encoder = SampleBatchEncoder(
            source: "fake", device: name.device, stream: name.stream, epoch: "epoch", fields: state.fields,
            isPacked: isPacked)
        var body = ByteBuffer(capacity: 1_024)
        var packed = ByteBuffer(capacity: 1_024)
        state.rows[samples].flatMap { $0 }.withUnsafeBufferPointer { rows in
            encoder.encode(
                sequence: samples.lowerBound, count: samples.count, clock: clock(state), rows: rows, into: &body)
            if isPacked { encoder.encodePacked(rows, into: &packed) }
        }
        return (body.withUnsafeBytes { Array($0) }, isPacked ? packed.withUnsafeBytes { Array($0) } : nil)
    }

    private func clock(_ state: State) -> ClockReading {
        var clock = ClockReading.now
        clock.date = WallTime(seconds: clock.date.seconds + state.ahead)
        return clock
    }
}
