import Messages
package import SampleSources

/// Puts samples that arrive at their own pace, as from a program on standard input, into batches.
///
/// Reads no clock: every call has the time, in nanoseconds of a monotonic clock. If samples have times of their own, the first
/// one after a start is assumed to be taken at its arrival, and the others at their distance from it: jitter of the transport
/// does not reach the data. Times are paired again if they show another clock: they jump back, or ahead by as much as this
/// machine slept, when its monotonic clock stood still. The owner may know other signs, such as a lead that is impossible. A
/// sample without a time of its own has the time of its arrival.
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

    /// Nanoseconds to add to the samples' own times; nil before the first one.
    private var offset: Int64?
    /// The latest of the samples' own times since they were paired here; nil before that, or if the offset was given to `start`.
    private var newest: Int64?
    /// How long this machine slept since the times were last paired, in nanoseconds.
    private var slept: Int64 = 0
    private var rows: [Double] = []
    /// The values of the rows, if they are records.
    private var records: RecordValues?
    private var count = 0
    private var firstArrival: Int64 = 0
    /// When the latest sample arrived; nil before the first one.
    package private(set) var lastArrival: Int64?

    /// - Throws: `invalidParameter` for a batch that is not 1 … `StreamConfiguration.maximumBatch`.
    package init(batch: Int = 1, maximumDelay: Int64 = 10_000_000) throws(PublisherError) {
        self.batch = try StreamConfiguration.validated(batch: batch)
        self.maximumDelay = maximumDelay
    }

    /// Begins to take samples.
    ///
    /// - Parameter offset: nanoseconds to add to the samples' own times; nil to pair the first one's time with its arrival.
    /// - Throws: `alreadyRunning`.
    package mutating func start(offset: Int64? = nil) throws(PublisherError) {
        guard state != .running else {
            throw PublisherError(.alreadyRunning, "the stream is running already; stop it before it is started again")
        }
        state = .running
        (self.offset, newest, slept) = (offset, nil, 0)
    }

    /// Takes one sample, and returns the batch that it completes. While the stream is not running, samples are left out.
    ///
    /// - Parameters:
    ///   - record: the values of a record that are not all numbers.
    ///   - time: the sample's own time in nanoseconds, if it has one.
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

    /// How far a sample's own time, as converted at present, is ahead of its arrival, in nanoseconds; 0 if it will be paired.
    package func lead(of time: Int64, at now: Int64) -> Int64 { offset.map { time + $0 - now } ?? 0 }

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

    /// Notes that this machine slept for `slept` nanoseconds.
    mutating func noteSleep(_ slept: Int64) { self.slept = self.slept.addingClamped(slept) }

    /// Continues after the device restarted or its clock was set: the next sample's time is paired anew. Call `flush` first.
    /// - Parameters:
    ///   - count: how many samples were lost meanwhile.
    ///   - offset: as for `start`.
    mutating func resume(without count: Int, offset: Int64? = nil) {
        nextSequence += Int64(count)
        (self.offset, newest) = (offset, nil)
    }

    /// When the batch under way is to be published although it is not full; nil if it is empty.
    package var nextDeadline: Int64? {
        count > 0 ? firstArrival + maximumDelay : nil
    }

    /// Returns the batch under way if its deadline has come.
    package mutating func advance(to now: Int64) -> RowBatch? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        return flush(at: now)
    }

    /// Ends sampling at the end of the input, and returns the remaining samples.
    package mutating func end(at now: Int64) -> RowBatch? {
        finish(as: .ended, at: now)
    }

    /// Stops sampling, and returns the remaining samples.
    package mutating func stop(at now: Int64) -> RowBatch? {
        finish(as: .stopped, at: now)
    }

    private mutating func finish(as end: SamplerState, at now: Int64) -> RowBatch? {
        guard state == .running else { return nil }
        state = end
        return flush(at: now)
    }

    /// Returns the samples that wait for their batch to fill.
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
