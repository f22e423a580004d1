import Messages
package import SampleSources

/// Puts samples that come when they come (from a program on standard input) into batches.
///
/// Knows no clock: every call is told the time, in nanoseconds of a monotonic clock. If samples have times of their own, the
/// first one after a start is taken to have been made when it arrived, and the others at their distance from it:
/// jitter on the way does not reach the data. The same is done again where times show another clock: they go back, or go on as
/// far as this machine slept, which its monotonic clock does not. Otherwise a sample's time is that of its arrival.
package struct LiveSampler {
    /// How far times may go back on the same clock, in nanoseconds.
    private static let furthestBack = Nanoseconds.perSecond

    package private(set) var state = SamplerState.idle
    /// The sequence number of the next sample to be published.
    package private(set) var nextSequence: Int64 = 0

    /// Samples in a full batch.
    package internal(set) var batch: Int
    /// How long a sample may wait for its batch to fill, in nanoseconds.
    package let maximumDelay: Int64

    /// What is added to the samples' own times; nil before the first one.
    private var offset: Int64?
    /// The latest of the samples' own times on the clock that was paired here; nil before the first one, and if `start` said how.
    private var newest: Int64?
    /// How long this machine slept since times last went on as far, in nanoseconds.
    private var slept: Int64 = 0
    private var rows: [Double] = []
    /// The values of the rows, if they are records.
    private var records: RecordValues?
    private var count = 0
    private var firstArrival: Int64 = 0
    /// When the latest sample came; nil before the first one.
    package private(set) var lastArrival: Int64?

    /// - Throws: `invalidParameter` for a batch that is not 1 … `StreamConfiguration.maximumBatch`.
    package init(batch: Int = 1, maximumDelay: Int64 = 10_000_000) throws(PublisherError) {
        self.batch = try StreamConfiguration.validated(batch: batch)
        self.maximumDelay = maximumDelay
    }

    /// Begins to take samples.
    ///
    /// - Parameter offset: what is added to the samples' own times; nil for what makes the first one's that of its arrival.
    /// - Throws: `alreadyRunning`.
    package mutating func start(offset: Int64? = nil) throws(PublisherError) {
        guard state != .running else {
            throw PublisherError(.alreadyRunning, "the stream is running already; stop it before it is started again")
        }
        state = .running
        (self.offset, newest, slept) = (offset, nil, 0)
    }

    /// Takes one sample, and gives the batch that it completes. One that comes while the stream is not running is left out.
    ///
    /// - Parameters:
    ///   - record: The values of a record, which are no numbers.
    ///   - time: The sample's own time in nanoseconds, if it has one.
    package mutating func take(
        _ values: some Collection<Double>, record: [UInt8]? = nil, time: Int64?, at now: Int64
    ) -> RowBatch? {
        guard state == .running else { return nil }
        if count == 0 { firstArrival = now }
        lastArrival = now
        if let time { pair(time, at: now) }
        rows.append(Nanoseconds.seconds(time.map { $0 + (offset ?? 0) } ?? now))
        rows.append(contentsOf: values)
        if let record {
            if records == nil { records = RecordValues() }
            records?.append(record)
        }
        count += 1
        return count == batch || records?.isFull == true ? flush(at: now) : nil
    }

    private mutating func pair(_ time: Int64, at now: Int64) {
        if let newest {
            let step = time - newest
            let sleeps = slept > 0 && step >= slept / 2
            if step >= -Self.furthestBack, !sleeps {
                self.newest = max(newest, time)
                return
            }
        } else if offset != nil {
            return
        }
        (offset, newest, slept) = (now - time, time, 0)
    }

    /// Notes that this machine slept, for so many nanoseconds.
    mutating func noteSleep(_ slept: Int64) { self.slept = self.slept.addingClamped(slept) }

    /// Continues after what measures has restarted, maybe with another clock: the next sample's time is paired anew. Call `flush` before.
    /// - Parameters:
    ///   - count: how many samples were lost meanwhile.
    ///   - offset: as for `start`.
    mutating func resume(without count: Int, offset: Int64? = nil) {
        nextSequence += Int64(count)
        (self.offset, newest) = (offset, nil)
    }

    /// When the batch under way is to be given out although it is not full; nil if it is empty.
    package var nextDeadline: Int64? {
        count > 0 ? firstArrival + maximumDelay : nil
    }

    /// Gives out the batch under way if its time has come.
    package mutating func advance(to now: Int64) -> RowBatch? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        return flush(at: now)
    }

    /// Says that the input ended, and gives what was left.
    package mutating func end(at now: Int64) -> RowBatch? {
        finish(as: .ended, at: now)
    }

    /// Ends sampling, and gives what was left.
    package mutating func stop(at now: Int64) -> RowBatch? {
        finish(as: .stopped, at: now)
    }

    private mutating func finish(as end: SamplerState, at now: Int64) -> RowBatch? {
        guard state == .running else { return nil }
        state = end
        return flush(at: now)
    }

    /// Gives out what waits, without waiting for more.
    package mutating func flush(at now: Int64) -> RowBatch? {
        guard count > 0 else { return nil }
        defer {
            nextSequence += Int64(count)
            rows = []
            records = nil
            count = 0
        }
        return RowBatch(
            firstSequence: nextSequence, count: count, rows: rows, records: records,
            lateness: now - (lastArrival ?? now))
    }
}
