package import Messages
package import SampleSources

/// The samples of a device that gives each one a time, but no number: Linux IIO, or an outlet of LSL.
///
/// Nothing proves that a sample is missing. A loss is inferred from a pause in the times that is too long for the rate, and
/// whenever the device was disconnected. Its length is estimated, and the gap is marked so (`Gap.Reason.estimated`).
package final class TimedInput: Sampler {
    /// The properties of a device that only the device itself knows.
    package struct Format: Hashable, Sendable {
        /// The names of the values, without "uptime".
        package var fields: [String]
        /// The types of the values, in a stream of records; nil if all are numbers.
        package var types: [FieldType]?
        package var unit: String?
        /// The nominal rate in Hz; nil if there is none: then no pause counts as a loss.
        package var rate: Double?
        /// A description for people.
        package var description: String
        /// Samples taken before this uptime, in nanoseconds, are left out: they waited in a buffer.
        package var earliest = Int64.min

        package init(fields: [String], types: [FieldType]? = nil, unit: String?, rate: Double?, description: String) {
            self.fields = fields
            self.types = types
            self.unit = unit
            self.rate = rate
            self.description = description
        }
    }

    /// The results of taking samples, in order.
    package enum Piece: Hashable, Sendable {
        case batch(RowBatch)
        /// The estimated number of samples lost, by the times.
        case lost(Int)
    }

    /// A pause longer than this many sample intervals counts as a loss.
    private static let longestInterval = 1.5

    package private(set) var fields: [String] = []
    package private(set) var types: [FieldType]?
    package private(set) var failure: PublisherError?
    package var unit: String? { givenUnit ?? format?.unit }
    package var rate: Double? { format?.rate }
    package var description: String { format?.description ?? "" }
    /// How far the device's clock is ahead, if it has one of its own.
    package var remoteClock: RemoteClock?

    private let givenUnit: String?
    /// The shortest pause that counts as a loss, in nanoseconds, regardless of the rate.
    private let tolerance: Int64
    private let batch: @Sendable (_ rate: Double?) -> Int
    private var format: Format?
    private var sampler: LiveSampler
    private var lastTime: Int64?
    /// Whether the device is disconnected, or has sent nothing since it was reconnected.
    private var isInterrupted = false

    /// - Parameters:
    ///   - tolerance: how late a sample's time may be without a loss, in nanoseconds.
    ///   - batch: the number of samples in a batch at a rate.
    package init(
        unit: String? = nil, tolerance: Int64 = 0, batch: @escaping @Sendable (_ rate: Double?) -> Int
    ) throws(PublisherError) {
        givenUnit = unit
        self.tolerance = tolerance
        self.batch = batch
        sampler = try LiveSampler(batch: batch(nil))
    }

    package var state: SamplerState { sampler.state }
    package var nextDeadline: Int64? { sampler.nextDeadline }
    package var truth: SignalTruth? { nil }
    package func lastSample(at now: Int64) -> Int64? { sampler.lastArrival }

    package func start(at now: Int64) throws(PublisherError) {
        try sampler.start(offset: 0)
        failure = nil
        lastTime = nil
    }

    /// Notes the device's properties, when it is found and each time it is reconnected.
    /// - Throws: `invalidInput` if it has no values, or other ones or another unit than before, which a stream
    ///   cannot change.
    package func connect(_ format: Format) throws(PublisherError) {
        guard !format.fields.isEmpty else { throw PublisherError(.invalidInput, "the device has no values") }
        let (fields, types) = ([FieldOrder.reserved] + format.fields, format.types.map { [.number] + $0 })
        guard self.fields.isEmpty || self.fields == fields && self.types == types else {
            throw PublisherError(
                .invalidInput,
                "the device's values have changed (\(format.fields.prefix(16).joined(separator: ", "))): restart the program"
            )
        }
        if let unit, let other = givenUnit ?? format.unit, other != unit {
            throw PublisherError(
                .invalidInput, "the device's unit has changed from \(unit) to \(other): restart the program")
        }
        self.fields = fields
        self.types = types
        self.format = format
        sampler.batch = batch(rate)
        failure = nil
    }

    /// Notes that no samples come from the device at present, and returns the waiting ones.
    package func interrupt(_ error: PublisherError, at now: Int64) -> RowBatch? {
        isInterrupted = isInterrupted || sampler.lastArrival != nil
        if state == .running { failure = error }
        return sampler.flush(at: now)
    }

    /// Takes samples, and returns the batches that they complete and the losses between them.
    /// - Parameters:
    ///   - rows: with the format's fields.
    ///   - offset: nanoseconds to add to their times to get uptimes.
    package func take(_ rows: PushedRows, offset: Int64, at now: Int64) -> [Piece] {
        guard state == .running else { return [] }
        var pieces: [Piece] = []
        let columns = types == nil ? fields.count - 1 : 0
        for (row, time) in rows.times.enumerated() {
            let time = time + offset
            guard time >= format?.earliest ?? .min else { continue }
            if let lost = lost(before: time) {
                if let waiting = sampler.flush(at: now) { pieces.append(.batch(waiting)) }
                sampler.resume(without: lost, offset: 0)
                pieces.append(.lost(lost))
            }
            isInterrupted = false
            lastTime = time
            let record = types == nil ? nil : rows.records.bytes(ofRow: row)
            let values = rows.values[row * columns..<(row + 1) * columns]
            if let batch = sampler.take(values, record: record, time: time, at: now) { pieces.append(.batch(batch)) }
        }
        return pieces
    }

    /// The estimated number of samples missing before the next one; nil if there is no sign of a loss.
    private func lost(before time: Int64) -> Int? {
        guard let lastTime else { return nil }
        let pause = Double(time.subtractingClamped(lastTime))
        let interval = rate.map { Double(Nanoseconds.perSecond) / $0 }
        let isLong = interval.map { pause > max(Self.longestInterval * $0, Double(tolerance)) } ?? false
        guard isInterrupted || isLong else { return nil }
        return EstimatedLoss.samples(in: interval.map { pause / $0 } ?? 0)
    }

    package func advance(to now: Int64) -> RowBatch? { sampler.advance(to: now) }
    package func flush(at now: Int64) -> RowBatch? { sampler.flush(at: now) }

    package func stop(at now: Int64) -> RowBatch? {
        if state == .running { failure = nil }
        isInterrupted = false
        return sampler.stop(at: now)
    }
}
