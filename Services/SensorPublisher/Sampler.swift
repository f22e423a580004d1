package import Messages

/// What is published of a stream, wherever its samples come from: `StreamSampler` takes them from a source at their
/// times, `LiveInput` as a program sends them.
///
/// Knows no clock: every call is told the time, in nanoseconds of a monotonic clock.
package protocol Sampler {
    /// Where the stream is.
    var state: SamplerState { get }
    /// Why the source failed, if it did.
    var failure: PublisherError? { get }
    /// What a row holds, "uptime" first; empty while that is not known.
    var fields: [String] { get }
    /// The unit of the values; nil if nobody said.
    var unit: String? { get }
    /// The nominal rate in Hz; nil if there is none.
    var rate: Double? { get }
    /// What the source is, for people.
    var description: String { get }
    /// What is true of the samples that were given out so far; nil where nobody knows.
    var truth: SignalTruth? { get }
    /// When `advance` has something to do, which may have passed; nil where it has nothing.
    var nextDeadline: Int64? { get }

    /// When the latest sample up to `now` was taken, also one that waits for its batch to fill; nil before the first.
    func lastSample(at now: Int64) -> Int64?

    /// Begins, with the source's first sample where it can begin anew.
    mutating func start(at now: Int64) throws(PublisherError)
    /// Takes the batches that are complete at `now`, or have waited long enough; at most about `limit` samples.
    mutating func advance(to now: Int64, limit: Int) -> [SampledBatch]
    /// Takes the samples that wait for their batch to fill, as far as they are due.
    mutating func flush(at now: Int64) -> SampledBatch?
    /// Gives what `flush(at:)` gives, and nothing after that.
    mutating func stop(at now: Int64) -> SampledBatch?
}
