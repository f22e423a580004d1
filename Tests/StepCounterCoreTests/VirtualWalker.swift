import Glibc
import Messages
import StepDetection

/// A publisher in virtual time, for a device whose wearer alternately walks and rests.
struct VirtualWalker {
    static let rate = 25
    static let replay = "tcp://10.0.0.1:5551"

    let name: StreamName
    /// The number of samples in the epoch.
    private(set) var count = 0
    private(set) var firstKept = 0
    /// The program that describes the stream.
    var source = "walker"
    var unit: String? = "g"
    var state = StreamDescription.State.running
    /// How far its wall clock is ahead of the true time, in seconds.
    var ahead = 0.0
    private var epochNumber: Int
    /// The uptime of the epoch's first sample, in seconds.
    private var start: Double
    private var detector = StepDetector(StepDetectorSettings(perG: 1))
    /// The uptimes of the steps in all samples of all epochs.
    private(set) var steps: [Double] = []

    init(_ device: String, _ stream: String = "accelerometer", epoch: Int = 0, uptime: Double) {
        epochNumber = epoch
        name = StreamName(device: device, stream: stream)
        start = uptime
    }

    var epoch: String { "\(name)-\(epochNumber)" }

    func uptime(_ sample: Int) -> Double { start + Double(sample) / Double(Self.rate) }

    /// Two walks a minute, with rest before, between and after.
    private func magnitude(_ sample: Int) -> Double {
        let time = uptime(sample)
        let second = time.truncatingRemainder(dividingBy: 55)
        let isWalking = (5..<25).contains(second) || (32..<50).contains(second)
        return 1 + (isWalking ? 0.3 * sin(2 * .pi * 1.8 * time) : 0)
    }

    /// Takes this many samples.
    mutating func sample(_ number: Int) -> Range<Int> {
        let first = count
        count += number
        for sample in first..<count {
            detector.add(time: uptime(sample), x: magnitude(sample), y: 0, z: 0) { event in
                if case .step(let step) = event { steps.append(step.time) }
            }
        }
        return first..<count
    }

    mutating func forget(before sample: Int) { firstKept = max(firstKept, min(sample, count)) }

    /// Begins a new epoch.
    mutating func restart(uptime: Double) {
        epochNumber += 1
        start = uptime
        count = 0
        firstKept = 0
        detector = StepDetector(StepDetectorSettings(perG: 1))
    }

    /// The uptimes of the steps that a detector finds, starting at a sample of the epoch.
    func steps(from first: Int) -> [Double] {
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        var steps: [Double] = []
        for sample in first..<count {
            detector.add(time: uptime(sample), x: magnitude(sample), y: 0, z: 0) { event in
                if case .step(let step) = event { steps.append(step.time) }
            }
        }
        return steps
    }

    func description(at clock: ClockReading) -> StreamDescription {
        StreamDescription(
            source: source, sequence: 0, device: name.device, stream: name.stream, epoch: epoch, state: state,
            fields: ["uptime", "magnitude"], unit: unit, packed: true, nextSequence: count, replay: Self.replay,
            clock: clock)
    }

    /// A batch of the epoch: its body and its matrix.
    func batch(_ samples: Range<Int>, at clock: ClockReading) -> [[UInt8]] {
        let encoder = SampleBatchEncoder(
            source: "walker", device: name.device, stream: name.stream, epoch: epoch, fields: ["uptime", "magnitude"],
            isPacked: true)
        var body = ByteBuffer(capacity: 512)
        var packed = ByteBuffer(capacity: 512)
        samples.flatMap { [uptime($0), magnitude($0)] }.withUnsafeBufferPointer { rows in
            encoder.encode(
                sequence: samples.lowerBound, count: samples.count, clock: clock, rows: rows, into: &body)
            encoder.encodePacked(rows, into: &packed)
        }
        return [body.withUnsafeBytes { Array($0) }, packed.withUnsafeBytes { Array($0) }]
    }
}
