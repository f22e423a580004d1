package import Messages
package import SampleSources

/// Decides when each sample of a source is due, and puts due samples into batches.
///
/// Reads no clock: every call has the time, in nanoseconds of a monotonic clock, and `nextDeadline` is the time of the next call.
/// A sample is due at start + its own time / speed, regardless of earlier delays: nothing drifts. Late samples are taken at once,
/// in order, and none are left out. A sample whose time is before its predecessor's is due at once.
///
/// The uptime of a row is start + the sample's own time, at any speed. No samples come after a stop. A new start begins with the
/// source's first sample and continues the sequence.
///
/// The samples of one batch are read ahead of their time, so that its completion time is known. Those not due when the stream is
/// stopped count as not sampled, and are discarded.
package final class StreamSampler: Sampler {
    package private(set) var state = SamplerState.idle
    package private(set) var failure: PublisherError?
    /// The sequence number of the next sample: how many were published since the sampler was made.
    package private(set) var nextSequence: Int64 = 0

    /// The uptime and the source's fields.
    package let fields: [String]
    package let types: [FieldType]?
    package let unit: String?
    package let rate: Double?
    package let description: String
    /// Samples in a full batch.
    package let batch: Int
    /// How many times faster than the source's own time the stream runs.
    package let speed: Double
    private let walk: WalkSignal?
    /// How many numbers a row has: for a record, only the uptime.
    private let columns: Int

    private var start: Int64 = 0
    /// How the source continues after the rows that were read ahead: a failure counts once those are due.
    private var end = SourceRows.End.more
    /// When the last released sample was due.
    private var lastDue: Int64?
    /// The source's time of the last sample released since the start.
    private var latest: Int64 = 0
    /// The steps of a walk that were made before the start.
    private var earlierSteps = 0

    // The batch under way: rows read ahead, when each is due, and how many of them `flush` released already.
    private var rows: [Double] = []
    private var records = RecordValues()
    private var dues: [Int64] = []
    private var given = 0

    /// A sampler of a source; only the source's description is read.
    /// - Throws: `invalidParameter` for a batch that is not 1 … `StreamConfiguration.maximumBatch` or a speed that is not
    ///   above 0.
    package init(of source: any SampleSource, batch: Int = 1, speed: Double = 1) throws(PublisherError) {
        self.batch = try StreamConfiguration.validated(batch: batch)
        guard speed > 0, speed.isFinite else {
            throw PublisherError(.invalidParameter, "a speed of \(speed) is not possible: give one above 0, as 1 or 50")
        }
        self.speed = speed
        fields = [FieldOrder.reserved] + source.fields
        types = source.types.map { [.number] + $0 }
        columns = types == nil ? fields.count : 1
        unit = source.unit
        rate = source.rate
        description = source.description
        walk = source.walk
    }

    package var truth: SignalTruth? {
        walk.map { walk in
            SignalTruth(
                steps: earlierSteps + walk.trueStepCount(until: Nanoseconds.seconds(latest)), cadence: walk.cadence)
        }
    }

    package var needsRewind: Bool { state == .stopped || state == .ended }

    /// Begins with the source's first sample, whose time 0 is `now`. The source must be at its first sample.
    ///
    /// - Throws: `alreadyRunning`.
    package func start(at now: Int64) throws(PublisherError) {
        guard state != .running else {
            throw PublisherError(.alreadyRunning, "the stream is running already; stop it before it is started again")
        }
        state = .running
        failure = nil
        earlierSteps = truth?.steps ?? 0
        latest = 0
        start = now
        end = .more
        forgetBatch()
    }

    package var rowsWanted: Int { state == .running && dues.isEmpty && end == .more ? batch : 0 }

    /// The time at which the batch under way is complete, which may have passed. Nil when the stream is not running, or waits
    /// for rows.
    package var nextDeadline: Int64? {
        guard state == .running else { return nil }
        // A source that ended leaves an empty batch: the stream must notice its end at once.
        return dues.last ?? (end == .more ? nil : start)
    }

    package func lastSample(at now: Int64) -> Int64? {
        dues.last { $0 <= now } ?? lastDue
    }

    package func take(_ read: inout SourceRows) {
        guard rowsWanted > 0 else { return }
        swap(&rows, &read.values)
        if types != nil { swap(&records, &read.records) }
        end = read.end
        var row = 0
        for time in read.times {
            rows[row] = Nanoseconds.seconds(start + time)
            dues.append(max(due(time), dues.last ?? lastDue ?? .min))
            row += columns
        }
    }

    /// Returns the batch that is complete at `now`; after the source's last sample also a partial one.
    package func advance(to now: Int64) -> RowBatch? {
        guard state == .running, dues.last ?? now <= now else { return nil }
        let finished = give(dues.count, at: now)
        forgetBatch()
        switch end {
        case .more: break
        case .last: state = .ended
        case .failed(let error):
            state = .ended
            failure = error
        }
        return finished
    }

    package func flush(at now: Int64) -> RowBatch? {
        guard state == .running else { return nil }
        return give(dues.firstIndex { $0 > now } ?? dues.count, at: now)
    }

    package func stop(at now: Int64) -> RowBatch? {
        guard state == .running else { return nil }
        let last = flush(at: now)
        state = .stopped
        forgetBatch()
        return last
    }

    /// Returns the samples of the batch under way up to `end` that were not released yet.
    private func give(_ end: Int, at now: Int64) -> RowBatch? {
        guard end > given else { return nil }
        let isWhole = given == 0 && end == dues.count
        let finished = RowBatch(
            firstSequence: nextSequence, count: end - given,
            rows: isWhole ? rows : Array(rows[given * columns..<end * columns]),
            records: types == nil ? nil : isWhole ? records : RecordValues(records[given..<end]),
            lateness: now - dues[end - 1])
        latest = Nanoseconds.from(seconds: rows[(end - 1) * columns]).map { $0 - start } ?? latest
        nextSequence += Int64(end - given)
        lastDue = dues[end - 1]
        given = end
        return finished
    }

    private func forgetBatch() {
        // The rows left with the batch: a new array, not a copy of the old one's storage.
        rows = []
        if types != nil { records = RecordValues() }
        dues.removeAll(keepingCapacity: true)
        given = 0
    }

    private func due(_ time: Int64) -> Int64 {
        guard speed != 1 else { return start + time }
        return start + (Nanoseconds.from(nanoseconds: Double(time) / speed) ?? (time < 0 ? -1 : 1) * Nanoseconds.limit)
    }
}
