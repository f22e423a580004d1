package import Messages

/// How regularly the samples of a stream were taken: the times between consecutive samples, in memory that does not grow with
/// their number.
///
/// Deviations from the nominal interval are counted in buckets whose width is a 32nd of their values, as in HdrHistogram: exact
/// up to 63 ns, then to 3 %. In JSON, `buckets` maps the least deviation of each bucket with a count, in nanoseconds, to that
/// count. Uptimes that are not numbers are skipped.
package struct IntervalStatistics: Hashable, Sendable {
    /// Samples per second, as the publisher states; nil without a valid rate.
    package let nominalRate: Double?
    package private(set) var count = 0
    /// The longest interval, in seconds of the publisher's clock.
    package private(set) var longest: Double?

    /// The largest deviation, in nanoseconds.
    private var maximum: Int64 = 0
    /// The number of deviations in each bucket; empty without a nominal rate.
    private var counts: [Int]
    /// The uptime at which the next interval begins; nil if none ends with the next sample.
    private var last: Double?

    /// - Parameter nominalRate: samples per second.
    package init(nominalRate: Double?) {
        let rate = nominalRate.flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
        self.nominalRate = rate
        counts = [Int](repeating: 0, count: rate == nil ? 0 : Self.bucket(of: .max) + 1)
    }

    /// Adds rows that follow each other and those added last: no row in between was left out.
    package mutating func add(_ rows: FormattedRows) {
        rows.uptimes.withUnsafeBufferPointer { add($0) }
        if rows.endsPaused { breakOff() }
    }

    /// Adds samples by their uptimes, in seconds; they follow those added last.
    package mutating func add(_ uptimes: UnsafeBufferPointer<Double>) {
        // A result with a NaN in it is NaN too, and fails every comparison.
        var last = last ?? .nan
        var count = 0
        var longest = longest ?? -.infinity
        let nominal = nominalRate.map { 1 / $0 } ?? .nan
        var maximum = maximum
        counts.withUnsafeMutableBufferPointer { counts in
            for uptime in uptimes {
                let interval = uptime - last
                last = uptime
                guard interval.isFinite else { continue }
                count += 1
                longest = max(longest, interval)
                let deviation = (interval - nominal).magnitude * 1e9
                if deviation >= 0 {
                    let nanoseconds = deviation < 0x1p62 ? Int64(deviation + 0.5) : .max
                    maximum = max(maximum, nanoseconds)
                    counts[Self.bucket(of: nanoseconds)] += 1
                }
            }
        }
        self.last = last.isNaN ? nil : last
        self.count += count
        self.longest = longest.isFinite ? longest : nil
        self.maximum = maximum
    }

    /// Notes that the next sample does not follow the last one: after a pause, a gap, or in another epoch.
    package mutating func breakOff() {
        last = nil
    }

    /// Deviations of intervals from the nominal one, in seconds; nil without intervals or a nominal rate.
    package var jitter: SessionReport.Latency? {
        guard nominalRate != nil, count > 0 else { return nil }
        return SessionReport.Latency(
            count: count, median: deviation(rank: (count + 1) / 2), p99: deviation(rank: count - count / 100),
            maximum: Double(maximum) / 1e9)
    }

    /// The deviation, in seconds, that `rank` deviations do not exceed: the upper end of its bucket.
    private func deviation(rank: Int) -> Double {
        var rest = rank
        let bucket = counts.firstIndex { count in
            rest -= count
            return rest <= 0
        }
        let upper = bucket.map { Self.least(of: $0 + 1) - 1 } ?? maximum
        return Double(min(upper, maximum)) / 1e9
    }

    @inline(__always)
    static func bucket(of nanoseconds: Int64) -> Int {
        let shift = max(0, 58 - nanoseconds.leadingZeroBitCount)
        return shift << 5 + Int(truncatingIfNeeded: nanoseconds >> Int64(shift))
    }

    /// The least deviation that a bucket holds, in nanoseconds.
    static func least(of bucket: Int) -> Int64 {
        if bucket < 64 { return Int64(bucket) }
        let shift = bucket >> 5 - 1
        let (least, overflow) = Int64(bucket & 31 + 32).multipliedReportingOverflow(by: 1 << shift)
        return overflow ? .max : least
    }
}

extension IntervalStatistics: Codable {
    private enum CodingKeys: String, CodingKey {
        case nominalRate, count, longest, maximum, buckets
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(nominalRate: try container.decodeIfPresent(Double.self, forKey: .nominalRate))
        count = try container.decode(Int.self, forKey: .count)
        longest = try container.decodeIfPresent(Double.self, forKey: .longest)
        maximum = try container.decodeIfPresent(Int64.self, forKey: .maximum) ?? 0
        for (least, count) in try container.decodeIfPresent([Int: Int].self, forKey: .buckets) ?? [:] {
            guard least >= 0, count > 0, nominalRate != nil else {
                throw DecodingError.dataCorruptedError(
                    forKey: .buckets, in: container, debugDescription: "\(least): \(count) is not a bucket's count.")
            }
            counts[Self.bucket(of: Int64(least))] = count
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(nominalRate, forKey: .nominalRate)
        try container.encode(count, forKey: .count)
        try container.encodeIfPresent(longest, forKey: .longest)
        if nominalRate == nil { return }
        try container.encode(maximum, forKey: .maximum)
        let buckets = counts.enumerated().filter { $0.element > 0 }
            .map { (Int(Self.least(of: $0.offset)), $0.element) }
        try container.encode([Int: Int](uniqueKeysWithValues: buckets), forKey: .buckets)
    }
}
