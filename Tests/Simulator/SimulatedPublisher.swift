import Messages
import TestSupport

/// A program that publishes, on a machine with clocks of its own. What it published it keeps for a while, to replay it.
final class SimulatedPublisher {
    struct Plan {
        var device: String
        var streams: Int
        /// Samples per second, and in a batch.
        var rate: Double
        var batch: Int
        var isPacked: Bool
        /// Whether it replays samples in other batches than it published them in.
        var isRebatching: Bool
        /// Nanoseconds for which batches are kept.
        var retention: Int64
        /// The machine's uptime at the run's start, and how far its date is ahead of the recorder's, in nanoseconds.
        var uptime: Int64
        var ahead: Int64
    }

    struct Batch {
        let first: Int
        let count: Int
        /// The body, and the matrix if it is packed.
        let frames: [[UInt8]]
        let time: Int64

        var end: Int { first + count }
    }

    private struct Stream {
        let name: StreamName
        var encoder: SampleBatchEncoder
        var next = 0
        var kept: [Batch] = []
    }

    static let fields = ["uptime", "x", "y"]
    /// Samples in one answer, at most.
    private static let answerLimit = 1_000

    let plan: Plan
    let endpoint: String
    private(set) var epoch = ""
    private(set) var isRunning = false
    /// Of the process: what a dead one had planned does not happen.
    private(set) var life = 0
    private var streams: [Stream] = []
    private var epochs = 0
    private var began: Int64 = 0
    private var descriptions = 0

    init(_ plan: Plan, number: Int) {
        self.plan = plan
        endpoint = "tcp://10.0.0.\(number + 1):5552"
    }

    var names: [StreamName] {
        (0..<plan.streams).map { StreamName(device: plan.device, stream: "sensor-\($0)") }
    }

    /// How many samples of each stream were published in this run.
    var next: Int { streams.first?.next ?? 0 }

    private func uptime(at now: Int64) -> Double { Double(plan.uptime + now) / 1e9 }

    func clock(at now: Int64) -> ClockReading {
        ClockReading(
            uptime: uptime(at: now), date: WallTime(nanosecondsSince1970: Simulation.start + now + plan.ahead),
            elapsed: uptime(at: now))
    }

    // MARK: Life

    func start(at now: Int64, epoch: String, oracle: inout Oracle) {
        life += 1
        isRunning = true
        self.epoch = epoch
        began = now
        streams = names.map { name in
            oracle.begin(name, Oracle.Epoch(name: epoch, start: uptime(at: now), rate: plan.rate))
            return Stream(
                name: name,
                encoder: SampleBatchEncoder(
                    source: "sensor-publisher", device: name.device, stream: name.stream, epoch: epoch,
                    fields: Self.fields, isPacked: plan.isPacked))
        }
        epochs += 1
    }

    func kill(at now: Int64, oracle: inout Oracle) {
        isRunning = false
        for name in names { oracle.end(name, at: now) }
        streams = []
    }

    // MARK: Samples

    /// When the next batch of all streams is complete.
    var nextBatch: Int64 {
        let end = (streams.first?.next ?? 0) + plan.batch
        return began + Int64((Double(end) / plan.rate * 1e9).rounded(.up))
    }

    /// Takes the batches that are complete now.
    func publish(at now: Int64, oracle: inout Oracle) -> [(stream: StreamName, batch: Batch)] {
        streams.indices.map { index in
            let first = streams[index].next
            let frames = frames(of: streams[index], first..<(first + plan.batch), at: now)
            let batch = Batch(first: first, count: plan.batch, frames: frames, time: now)
            streams[index].next += plan.batch
            streams[index].kept.append(batch)
            if let fresh = streams[index].kept.firstIndex(where: { now - $0.time <= plan.retention }), fresh > 64 {
                streams[index].kept.removeFirst(fresh)
            }
            oracle.note(streams[index].name, upTo: batch.end, at: now)
            return (streams[index].name, batch)
        }
    }

    private func frames(of stream: Stream, _ samples: Range<Int>, at now: Int64) -> [[UInt8]] {
        var rows: [Double] = []
        rows.reserveCapacity(3 * samples.count)
        for sequence in samples {
            rows.append(uptime(at: began) + Double(sequence) / plan.rate)
            rows.append(Double(epochs - 1))
            rows.append(Double(sequence))
        }
        var buffer = ByteBuffer(capacity: 0)
        return rows.withUnsafeBufferPointer { rows in
            stream.encoder.encode(
                sequence: samples.lowerBound, count: samples.count, clock: clock(at: now), rows: rows, into: &buffer)
            let body = buffer.withUnsafeBytes { Array($0) }
            guard plan.isPacked else { return [body] }
            buffer.removeAll()
            stream.encoder.encodePacked(rows, into: &buffer)
            return [body, buffer.withUnsafeBytes { Array($0) }]
        }
    }

    func describe(at now: Int64) -> [StreamDescription] {
        descriptions += 1
        return streams.map { stream in
            StreamDescription(
                source: "sensor-publisher", sequence: descriptions, device: stream.name.device,
                stream: stream.name.stream, epoch: epoch, state: .running, fields: Self.fields, rate: plan.rate,
                packed: plan.isPacked, nextSequence: stream.next, replay: endpoint, clock: clock(at: now),
                lastSample: uptime(at: now), retention: Double(plan.retention) / 1e9)
        }
    }

    // MARK: Replays

    enum Answer {
        case frames([[UInt8]])
        /// None of it is kept.
        case nothing
        case otherEpoch
    }

    func answer(_ request: SamplesReplay, at now: Int64) -> Answer {
        guard request.epoch == epoch else { return .otherEpoch }
        guard
            let stream = streams.first(where: { $0.name.device == request.device && $0.name.stream == request.stream })
        else { return .nothing }
        var frames: [[UInt8]] = []
        var kept = 0..<0
        var count = 0
        for batch in stream.kept
        where batch.end > request.from && batch.first < request.from + request.count && count < Self.answerLimit
            && now - batch.time <= plan.retention
        {
            frames += batch.frames
            count += batch.count
            kept = (kept.isEmpty ? batch.first : kept.lowerBound)..<batch.end
        }
        if frames.isEmpty { return .nothing }
        return .frames(plan.isRebatching ? rebatched(stream, kept, at: now) : frames)
    }

    /// The same samples and some more, in batches that begin elsewhere.
    private func rebatched(_ stream: Stream, _ samples: Range<Int>, at now: Int64) -> [[UInt8]] {
        let end = min(samples.upperBound + plan.batch / 2 + 1, stream.next)
        return stride(from: samples.lowerBound, to: end, by: plan.batch + 3).flatMap { first in
            frames(of: stream, first..<min(end, first + plan.batch + 3), at: now)
        }
    }
}
