package import Messages
package import SampleSources

/// What is published of a stream, wherever its samples come from: `StreamSampler` gives out a source's samples at their
/// times, `LiveInput` those of a program as it sends them.
///
/// Knows no clock: every call is told the time, in nanoseconds of a monotonic clock.
package protocol Sampler: AnyObject {
    var state: SamplerState { get }
    /// Why the source failed, if it did.
    var failure: PublisherError? { get }
    /// What a row holds, "uptime" first; empty while that is not known.
    var fields: [String] { get }
    /// What the values of a row are, in a stream of records; nil if all are numbers.
    var types: [FieldType]? { get }
    /// The unit of the values; nil if it is unknown.
    var unit: String? { get }
    /// The nominal rate in Hz; nil if there is none.
    var rate: Double? { get }
    /// What the source is, for people.
    var description: String { get }
    /// How far the clock of the device is ahead; nil if its times are of this machine's.
    var remoteClock: RemoteClock? { get }
    /// What is true of the samples that were given out so far; nil if it is unknown.
    var truth: SignalTruth? { get }
    /// When `advance` has something to do, which may have passed; nil if it has nothing.
    var nextDeadline: Int64? { get }
    /// How many rows of the source are needed now: `take` them before anything else can come.
    var rowsWanted: Int { get }
    /// Whether the source must go back to its first sample before a start.
    var needsRewind: Bool { get }

    /// When the latest sample up to `now` was taken, also one that waits for its batch to fill; nil before the first.
    func lastSample(at now: Int64) -> Int64?

    /// Begins, with the source's first sample if it can begin anew.
    func start(at now: Int64) throws(PublisherError)
    /// Takes rows that were wanted. Takes their values out of `rows` rather than copy them.
    func take(_ rows: inout SourceRows)
    /// Takes the batch that is complete at `now`, or has waited long enough.
    func advance(to now: Int64) -> RowBatch?
    /// Takes the samples that wait for their batch to fill, as far as they are due. Call `advance` first.
    func flush(at now: Int64) -> RowBatch?
    /// Gives what `flush(at:)` gives, and nothing after that.
    func stop(at now: Int64) -> RowBatch?
}

extension Sampler {
    package var rowsWanted: Int { 0 }
    package var needsRewind: Bool { false }
    package var remoteClock: RemoteClock? { nil }

    package func take(_ rows: inout SourceRows) {}
}
