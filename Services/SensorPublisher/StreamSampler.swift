package import Messages

/// Decides when each sample of a source is due, and puts due samples into batches.
///
/// Knows no clock: every call is told the time, in nanoseconds of a monotonic clock, and `nextDeadline` says when to call
/// next. A sample is due at start + its own time / speed, whatever happened before: nothing drifts. What is late is taken
/// at once, in order, and nothing is left out; a sample whose time is before its predecessor's is due at once.
///
/// Rows carry start + the sample's own time as uptime, at any speed. After a stop nothing more comes; a new start begins
/// with the source's first sample and goes on with the sequence.
///
/// The samples of one batch are read from the source ahead of their time, so that its completion is known beforehand; what is
/// not due yet when the stream is stopped was not sampled, and is forgotten.
package struct StreamSampler: Sampler {
    /// The largest batch.
    package static let maximumBatch = 100_000

    package private(set) var state = SamplerState.idle
    /// Why the source failed, if it did.
    package private(set) var failure: PublisherError?
    /// The sequence number of the next sample: how many were published since the sampler was made.
    package private(set) var nextSequence: Int64 = 0

    /// Samples in a full batch.
    package let batch: Int
    /// How many times faster than in the source's own time it runs.
    package let speed: Double

    private var source: any SampleSource
    private var start: Int64 = 0
    private var isSourceAtEnd = false
    /// Why the source has no more samples, known from reading ahead: a failure once those that it gave are due.
    private var pendingFailure: PublisherError?
    /// When the last sample was due that was given out.
    private var lastDue: Int64?
    /// The source's time of the last sample that was given out since the start.
    private var latest: Int64 = 0
    /// The steps of a walk that were made before the start.
    private var earlierSteps = 0

    // The batch under way: rows read ahead, when each is due, and how many of them `flush` gave out already.
    private var rows: [Double] = []
    private var dues: [Int64] = []
    private var given = 0

    /// - Throws: `invalidParameter` for a batch that is not 1 … `maximumBatch` or a speed that is not above 0.
    package init(source: any SampleSource, batch: Int = 1, speed: Double = 1) throws(PublisherError) {
        guard batch >= 1, batch <= Self.maximumBatch else {
            throw PublisherError(
                .invalidParameter, "a batch of \(batch) samples is not possible: give 1 to \(Self.maximumBatch)")
        }
        guard speed > 0, speed.isFinite else {
            throw PublisherError(.invalidParameter, "a speed of \(speed) is not possible: give one above 0, as 1 or 50")
        }
        self.source = source
        self.batch = batch
        self.speed = speed
    }

    /// What a row holds: the uptime and the source's fields.
    package var fields: [String] { [FieldOrder.reserved] + source.fields }
    package var unit: String? { source.unit }
    package var rate: Double? { source.rate }
    package var description: String { source.description }

    /// What is true of the samples that were given out since the sampler was made; nil where nobody knows.
    package var truth: SignalTruth? {
        source.walk.map { walk in
            SignalTruth(
                steps: earlierSteps + walk.trueStepCount(until: Nanoseconds.seconds(latest)), cadence: walk.cadence)
        }
    }

    /// Begins with the source's first sample, whose time 0 is `now`.
    ///
    /// - Throws: `alreadyRunning`; what the source throws when it goes back to its beginning.
    package mutating func start(at now: Int64) throws(PublisherError) {
        guard state != .running else {
            throw PublisherError(.alreadyRunning, "the stream is running already; stop it before it is started again")
        }
        if state != .idle { try source.rewind() }
        state = .running
        failure = nil
        pendingFailure = nil
        earlierSteps = truth?.steps ?? 0
        latest = 0
        start = now
        isSourceAtEnd = false
        forgetBatch()
        readAhead()
    }

    /// When `advance(to:)` has something to do: the time at which the batch under way is complete, which may have passed.
    /// Nil when the stream is not running.
    package var nextDeadline: Int64? {
        // A source that ended leaves an empty batch: that the stream has ended is to be noticed at once.
        state == .running ? dues.last ?? start : nil
    }

    package func lastSample(at now: Int64) -> Int64? {
        dues.last { $0 <= now } ?? lastDue
    }

    /// Takes the full batches that are complete at `now`, oldest first; after the source's last sample also a partial one.
    ///
    /// - Parameter limit: Stops after the batch with which this many samples are reached; call again while `nextDeadline`
    ///   is not in the future.
    package mutating func advance(to now: Int64, limit: Int = 100_000) -> [SampledBatch] {
        var batches: [SampledBatch] = []
        var taken = 0
        while state == .running, taken < limit {
            if let due = dues.last {
                guard due <= now else { break }
                if let finished = give(dues.count, at: now) {
                    taken += finished.count
                    batches.append(finished)
                }
                forgetBatch()
            }
            if isSourceAtEnd {
                state = .ended
                failure = pendingFailure
            } else {
                readAhead()
            }
        }
        return batches
    }

    /// Takes those samples of the batch under way that are due, without waiting for the others.
    ///
    /// Call it after `advance(to:)`, which takes what is complete.
    package mutating func flush(at now: Int64) -> SampledBatch? {
        guard state == .running else { return nil }
        return give(dues.firstIndex { $0 > now } ?? dues.count, at: now)
    }

    /// Ends sampling: gives what `flush(at:)` gives, and nothing after that. On a stream that is not running nothing happens.
    package mutating func stop(at now: Int64) -> SampledBatch? {
        guard state == .running else { return nil }
        let last = flush(at: now)
        state = .stopped
        forgetBatch()
        return last
    }

    /// Gives the samples of the batch under way up to `end` that were not given yet.
    private mutating func give(_ end: Int, at now: Int64) -> SampledBatch? {
        guard end > given else { return nil }
        let columns = rows.count / dues.count
        let isWhole = given == 0 && end == dues.count
        let finished = SampledBatch(
            firstSequence: nextSequence, count: end - given,
            rows: isWhole ? rows : Array(rows[given * columns..<end * columns]), lateness: now - dues[end - 1])
        latest = Nanoseconds.from(seconds: rows[(end - 1) * columns]).map { $0 - start } ?? latest
        nextSequence += Int64(end - given)
        lastDue = dues[end - 1]
        given = end
        return finished
    }

    private mutating func forgetBatch() {
        // The rows went out with the batch: a new array, not a copy of the old one's storage.
        rows = []
        dues.removeAll(keepingCapacity: true)
        given = 0
    }

    private mutating func readAhead() {
        let columns = 1 + source.fields.count
        rows.reserveCapacity(batch * columns)
        while dues.count < batch {
            let row = rows.count
            rows.append(0)
            do throws(PublisherError) {
                guard let time = try source.next(into: &rows) else {
                    rows.removeLast()
                    isSourceAtEnd = true
                    return
                }
                rows[row] = Nanoseconds.seconds(start + time)
                dues.append(max(due(time), dues.last ?? .min))
            } catch {
                rows.removeLast()
                isSourceAtEnd = true
                pendingFailure = error
                return
            }
        }
    }

    private func due(_ time: Int64) -> Int64 {
        guard speed != 1 else { return start + time }
        return start + (Nanoseconds.from(nanoseconds: Double(time) / speed) ?? (time < 0 ? -1 : 1) * Nanoseconds.limit)
    }
}
