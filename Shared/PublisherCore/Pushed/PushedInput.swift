package import Messages
package import SampleSources

/// The samples that a client pushes: published as they arrive, with the times of the client's clock.
package final class PushedInput: Sampler {
    /// How long a client may be silent before its stream counts as ended, in nanoseconds.
    package static let longestSilence = 600 * Nanoseconds.perSecond
    /// How long the second message may take, while no pause between messages is known, in nanoseconds.
    private static let firstPatience = 15 * Nanoseconds.perSecond
    /// The weight of the longest pause shrinks by this factor with each message.
    private static let forgetting = 0.9

    package let fields: [String]
    package let types: [FieldType]?
    package let unit: String?
    package let description: String
    package private(set) var state = SamplerState.running
    /// The rate given by the client, in Hz.
    private let nominalRate: Double?
    /// The time of the latest sample, on the client's clock.
    private(set) var lastTime: Int64?
    /// The number of intervals between consecutive samples, and their total length in nanoseconds.
    private var intervals: (count: Int, length: Double) = (0, 0)
    /// Whether samples are missing after the latest one.
    private var isInGap = false
    private(set) var lastArrival: Int64
    /// About the longest recent pause between messages, in nanoseconds.
    private var pause: Double?
    /// The latest sample's time on the client's clock, and the uptime assigned to it.
    private var placed: (time: Int64, uptime: Int64)?
    /// The pairing of the client's clock by which that was assigned.
    private var pairing = 0

    init(
        fields: [String], types: [FieldType]?, unit: String?, rate: Double?, description: String, at now: Int64
    ) {
        self.fields = [FieldOrder.reserved] + fields
        self.types = types.map { [.number] + $0 }
        self.unit = unit
        nominalRate = rate
        self.description = description
        lastArrival = now
    }

    package var failure: PublisherError? { nil }
    package var truth: SignalTruth? { nil }
    package var nextDeadline: Int64? { nil }

    /// Whether the fields are those of a client's samples.
    func hasFields(of rows: PushedRows) -> Bool { fields.dropFirst().elementsEqual(rows.fields) }

    /// The client's nominal rate or the measured one: to a tenth of a hertz, and below 10 Hz to three significant digits.
    package var rate: Double? {
        if let nominalRate { return nominalRate }
        guard let interval else { return nil }
        let measured = Double(Nanoseconds.perSecond) / interval
        var scale = 10.0
        while measured * scale < 100 { scale *= 10 }
        return (measured * scale).rounded() / scale
    }

    /// The mean interval between samples in nanoseconds; nil while it is not known.
    var interval: Double? {
        intervals.count > 0 && intervals.length > 0 ? intervals.length / Double(intervals.count) : nil
    }

    /// Whether the client has been silent so long that the stream counts as ended.
    func isOver(at now: Int64) -> Bool { now - lastArrival > Self.longestSilence }

    /// The uptimes of samples that are published now. They increase with the client's times, except when its clock is
    /// paired anew.
    ///
    /// Samples taken while this machine slept would all have the same uptime: they are placed one step apart.
    /// - Parameters:
    ///   - pairing: how often the client's clock was paired anew.
    ///   - uptime: converts a time of the client's clock to an uptime.
    func place(_ times: ArraySlice<Int64>, pairing: Int, _ uptime: (Int64) -> Int64) -> [Int64] {
        if pairing != self.pairing { (self.pairing, lastTime, placed) = (pairing, nil, nil) }
        return times.map { time in
            var own = uptime(time)
            if let placed, time >= placed.time, own <= placed.uptime {
                own = placed.uptime + (time > placed.time ? SleepWatch.leastStep : 0)
            }
            placed = (time, own)
            return own
        }
    }

    /// Notes samples that are published now.
    func note(_ times: ArraySlice<Int64>, at now: Int64) {
        if lastTime != nil { pause = max(Double(now - lastArrival), (pause ?? 0) * Self.forgetting) }
        if state == .ended { state = .running }
        lastArrival = now
        guard let oldest = times.first, let newest = times.last else { return }
        let start = isInGap ? nil : lastTime
        intervals.count += times.count - (start == nil ? 1 : 0)
        intervals.length += Double(newest - (start ?? oldest))
        (lastTime, isInGap) = (newest, false)
    }

    /// Notes that samples are missing before the next ones: the time between is no interval between samples.
    func noteGap() { isInGap = true }

    /// Restarts the measurement: the client's clock may be another one.
    func forgetTimes() {
        (lastTime, placed) = (nil, nil)
        intervals = (0, 0)
    }

    func end() { if state == .running { state = .ended } }

    /// A client that sends a batch every ten seconds is not silent in between: its samples wait for their batch to fill.
    package func lastSample(at now: Int64) -> Int64? {
        let patience = max(2.5 * (pause ?? 0), Double(pause == nil ? Self.firstPatience : 0))
        return Double(now - lastArrival) < patience ? now : lastArrival
    }

    package func start(at now: Int64) throws(PublisherError) {
        guard state != .running else {
            throw PublisherError(.alreadyRunning, "the stream is running already; stop it before it is started again")
        }
        state = .running
        lastArrival = now
    }

    package func advance(to now: Int64) -> RowBatch? { nil }
    package func flush(at now: Int64) -> RowBatch? { nil }

    package func stop(at now: Int64) -> RowBatch? {
        state = .stopped
        return nil
    }
}
