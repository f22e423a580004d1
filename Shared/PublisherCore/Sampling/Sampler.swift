package import Messages
package import SampleSources

/// The samples of a stream, for any kind of source: `StreamSampler` releases a source's samples at their times, `LiveInput` those
/// of a program as they arrive.
///
/// Reads no clock: every call has the time, in nanoseconds of a monotonic clock.
package protocol Sampler: AnyObject {
    var state: SamplerState { get }
    /// Why the source failed, if it did.
    var failure: PublisherError? { get }
    /// The names of the values in a row, "uptime" first; empty while they are not known.
    var fields: [String] { get }
    /// The types of the values in a row, in a stream of records; nil if all are numbers.
    var types: [FieldType]? { get }
    /// The unit of the values; nil if it is unknown.
    var unit: String? { get }
    /// The nominal rate in Hz; nil if there is none.
    var rate: Double? { get }
    /// What the source is, for people.
    var description: String { get }
    /// How far the device's clock is ahead; nil if its times are on this machine's clock.
    var remoteClock: RemoteClock? { get }
    /// The known truth about the samples released so far, such as their steps; nil if it is unknown.
    var truth: SignalTruth? { get }
    /// When to call `advance` next, which may have passed; nil if there is no such time.
    var nextDeadline: Int64? { get }
    /// How many rows of the source are needed now: `take` them before anything else.
    var rowsWanted: Int { get }
    /// Whether the source must be rewound to its first sample before a start.
    var needsRewind: Bool { get }

    /// When the latest sample up to `now` was taken, including those that wait for their batch to fill; nil before the first.
    func lastSample(at now: Int64) -> Int64?

    /// Begins sampling, with the source's first sample if it can be rewound.
    func start(at now: Int64) throws(PublisherError)
    /// Takes the rows that were wanted. Moves the values out of `rows` to avoid a copy.
    func take(_ rows: inout SourceRows)
    /// Returns the batch that is complete at `now` or has waited long enough.
    func advance(to now: Int64) -> RowBatch?
    /// Returns the samples that are due and wait for their batch to fill. Call `advance` first.
    func flush(at now: Int64) -> RowBatch?
    /// Stops sampling, and returns what `flush(at:)` would.
    func stop(at now: Int64) -> RowBatch?
}

extension Sampler {
    package var rowsWanted: Int { 0 }
    package var needsRewind: Bool { false }
    package var remoteClock: RemoteClock? { nil }

    package func take(_ rows: inout SourceRows) {}
}
