import MessageBus
import Messages
import ServiceKit
import Synchronization
import TestSupport
import ZeroMQ

/// A sensor publisher controlled by a test: it takes samples, loses batches in transit, forgets, restarts, and answers wrongly or
/// not at all. In each sample `x` is its sequence and `y` the number of its epoch.
final class FakePublisher: Sendable {
    typealias Replay = @Sendable (SamplesReplay) async throws -> (SamplesReplay.Reply, [[UInt8]])

    struct State {
        var epochNumber = 0
        var next = 0
        var fields: [String]
        var rate: Double?
        /// Uptimes of the epoch's samples that are still kept; the first belongs to `firstKept`.
        var uptimes: [Double] = []
        var firstKept = 0
        var batchSizes: [Int] = []
        var retention = Int.max
        var replay: Replay?
        var list: (@Sendable () async throws -> Void)?
        var replaysAsked = 0
    }

    let name: StreamName
    let isPacked: Bool
    /// The PUB socket's endpoint.
    let endpoint: String
    private let state: Mutex<State>
    private let events: EventPublisher
    private let server: Mutex<ReplyServer?> = Mutex(nil)
    private let context: Context
    private let thread: SocketThread

    init(
        _ name: StreamName = StreamName(device: "phone", stream: "accelerometer"),
        fields: [String] = ["uptime", "x", "y"], isPacked: Bool = false
    ) async throws {
        self.name = name
        self.isPacked = isPacked
        state = Mutex(State(fields: fields))
        context = try Context()
        thread = try SocketThread(name: "publisher")
        (events, endpoint) = try EventPublisher.listening(on: "tcp://127.0.0.1:*", context: context, thread: thread)
        var router = RequestRouter()
        router.on(StreamsList.self) { [weak self] _ in
            guard let self else { throw CancellationError() }
            try await self.state.withLock { $0.list }?()
            return StreamsList.Reply(streams: [self.description])
        }
        router.onWithFrames(SamplesReplay.self) { [weak self] request in
            guard let self else { throw CancellationError() }
            let replay = self.state.withLock { state in
                state.replaysAsked += 1
                return state.replay
            }
            return try await (replay ?? self.answer)(request)
        }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: context, thread: thread)
        self.server.withLock { $0 = server }
    }

    /// Answers requests until the task is cancelled.
    func run() async throws { try await server.withLock { $0 }?.run() }

    var replyEndpoint: String { server.withLock { $0?.endpoint } ?? "" }

    var epoch: String { Self.epoch(state.withLock { $0.epochNumber }, of: name) }
    var next: Int { state.withLock { $0.next } }

    /// How many replays were requested.
    var replaysAsked: Int { state.withLock { $0.replaysAsked } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Replaces the answer to requests for samples; nil restores the correct one.
    func onReplay(_ replay: Replay?) { set { $0.replay = replay } }

    /// Delays requests for samples until a gate is open; they then get the correct answer, or an error.
    func gateReplays(error: (any Error)? = nil) -> Gate {
        let gate = Gate()
        onReplay { [self] request in
            await gate.pass()
            if let error { throw error }
            return try answer(request)
        }
        return gate
    }

    /// Runs a closure before `streams.list` is answered.
    func onList(_ body: (@Sendable () async throws -> Void)?) { set { $0.list = body } }

    // MARK: Publishing

    /// Takes samples and publishes them as one batch.
    /// - Parameters:
    ///   - isLost: whether the batch reaches nobody.
    ///   - uptime: when the first sample was taken; now if nil. The others follow at intervals of a microsecond.
    func sample(_ count: Int = 1, isLost: Bool = false, uptime: Double? = nil) throws {
        let uptime = uptime ?? Double(MonotonicClock.now) / 1e9
        let first = state.withLock { state in
            defer { state.next += count }
            state.uptimes += (0..<count).map { uptime + Double($0) * 1e-6 }
            state.batchSizes.append(count)
            let excess = state.uptimes.count - state.retention
            if excess > 0 {
                state.uptimes.removeFirst(excess)
                state.firstKept += excess
            }
            return state.next
        }
        if !isLost { try publish(first..<first + count) }
    }

    /// Publishes samples that are kept, as one batch.
    func publish(_ samples: Range<Int>) throws {
        let (body, packed) = batch(samples)
        try publish(body: body, packed: packed)
    }

    /// Takes a sample, and publishes it as if it had been published some time ago.
    func sample(late: Duration) throws {
        let next = next
        try sample(isLost: true)
        let (body, packed) = batch(next..<next + 1)
        let lateness = late.components.seconds * 1_000_000_000
        try publish(
            body: body, packed: packed,
            at: WallTime(nanosecondsSince1970: WallTime.now.nanosecondsSince1970 - lateness))
    }

    /// Publishes arbitrary bytes as a batch.
    func publish(body: [UInt8], packed: [UInt8]? = nil, at date: WallTime = .now) throws {
        var message = MessageBatch()
        message.append(
            topic: Array("\(TopicArea.samples)\(name)".utf8), body: body, packed: packed,
            time: EventTime.text(of: date))
        try events.publish(message)
    }

    func describe(_ change: (inout StreamDescription) -> Void = { _ in }) throws {
        var description = description
        change(&description)
        try events.publish(description)
    }

    /// Starts a new epoch: kept samples are gone.
    func restart(fields: [String]? = nil) {
        state.withLock { state in
            state.epochNumber += 1
            state.next = 0
            state.firstKept = 0
            state.uptimes = []
            if let fields { state.fields = fields }
        }
    }

    // MARK: Answers

    func answer(_ request: SamplesReplay) throws -> (SamplesReplay.Reply, [[UInt8]]) {
        guard request.epoch == epoch else { throw RequestError(.unknownEpoch, "it started anew") }
        let (kept, next) = state.withLock { ($0.firstKept..<$0.firstKept + $0.uptimes.count, $0.next) }
        let wanted = kept.clamped(to: request.from..<max(request.from, request.from + min(request.count, 1 << 40)))
        // A reply has at most 40 samples.
        let samples = wanted.prefix(40)
        var frames: [[UInt8]] = []
        for start in stride(from: samples.startIndex, to: samples.endIndex, by: 10) {
            let (body, packed) = batch(start..<min(start + 10, samples.endIndex))
            frames.append(body)
            if let packed { frames.append(packed) }
        }
        return (
            SamplesReplay.Reply(
                from: samples.isEmpty ? request.from : samples.startIndex, count: samples.count, first: kept.lowerBound,
                last: next - 1), frames
        )
    }

    var description: StreamDescription {
        let (next, fields, rate) = state.withLock { ($0.next, $0.fields, $0.rate) }
        return StreamDescription(
            source: "fake", sequence: 0, device: name.device, stream: name.stream, epoch: epoch, state: .running,
            fields: fields, rate: rate, packed: isPacked, nextSequence: next, replay: replyEndpoint, clock: .now)
    }

    /// The frames of samples that are kept; rows in the shape of `fields`, zeros after `y`.
    func batch(_ samples: Range<Int>, of name: StreamName? = nil) -> (body: [UInt8], packed: [UInt8]?) {
        let name = name ?? self.name
        let (state, number) = state.withLock { ($0, Double($0.epochNumber)) }
        let rows = samples.flatMap { sample in
            [state.uptimes[sample - state.firstKept], Double(sample), number].prefix(state.fields.count)
                + [Double](repeating: 0, count: max(0, state.fields.count - 3))
        }
        let encoder = SampleBatchEncoder(
            source: "fake", device: name.device, stream: name.stream, epoch: epoch, fields: state.fields,
            isPacked: isPacked)
        var body = ByteBuffer(capacity: 1_024)
        var packed = ByteBuffer(capacity: 1_024)
        rows.withUnsafeBufferPointer { rows in
            encoder.encode(
                sequence: samples.lowerBound, count: samples.count, clock: .now, rows: rows, into: &body)
            if isPacked { encoder.encodePacked(rows, into: &packed) }
        }
        return (body.withUnsafeBytes { Array($0) }, isPacked ? packed.withUnsafeBytes { Array($0) } : nil)
    }

    private static func epoch(_ number: Int, of name: StreamName) -> String {
        "\(name.device)-\(name.stream)-epoch-\(number)"
    }
}
