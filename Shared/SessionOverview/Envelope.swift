/// The minimum and maximum of each field in each time column: the data of a plot of a stream of any length.
///
/// A pure value of bounded size: when there are too many columns, pairs are merged. Times are in nanoseconds since an arbitrary
/// origin.
package struct Envelope: Hashable, Sendable {
    /// A field's values in a column; both NaN if it has none.
    package struct Extremes: Hashable, Sendable {
        package var least: Double
        package var most: Double

        package static let none = Extremes(least: .nan, most: .nan)

        package init(least: Double, most: Double) {
            self.least = least
            self.most = most
        }

        /// Includes a value. NaN and infinity are ignored, because a plot has no place for them.
        mutating func add(_ value: Double) {
            guard value.isFinite else { return }
            // Comparisons with NaN are false, so the first value replaces NaN.
            if !(least <= value) { least = value }
            if !(most >= value) { most = value }
        }

        func joined(_ other: Extremes) -> Extremes {
            var joined = self
            joined.add(other.least)
            joined.add(other.most)
            return joined
        }
    }

    /// Some of the columns, for a plot.
    package struct Part: Hashable, Sendable {
        /// The width of a column, in nanoseconds.
        package var width: Int64
        /// The start times of the columns that have samples, in order.
        package var times: [Int64] = []
        /// For each field, its extremes in these columns.
        package var fields: [[Extremes]]
    }

    private static let firstWidth: Int64 = 1_000_000

    private let fieldCount: Int
    private let maximumColumns: Int
    /// The width of a column, in nanoseconds.
    package private(set) var width = firstWidth
    /// When the first column begins.
    private var start: Int64?
    /// The columns, each with all fields.
    private var columns: [Extremes] = []
    /// Which columns have samples.
    private var counts: [Int32] = []

    /// - Parameter maximumColumns: rounded down to an even number, at least 2.
    package init(fields: Int, maximumColumns: Int) {
        fieldCount = fields
        self.maximumColumns = max(2, maximumColumns / 2 * 2)
    }

    /// Size in memory, in bytes.
    package var byteCount: Int { columns.count * MemoryLayout<Extremes>.stride + counts.count * 4 }

    /// From the start of the first column to the end of the last; nil if empty.
    package var span: Range<Int64>? { start.map { $0..<$0 + Int64(counts.count) * width } }

    /// Adds a sample.
    /// - Parameter value: called for each field, with the field's index.
    package mutating func add(at time: Int64, _ value: (Int) -> Double) {
        let start = self.start ?? Self.floor(time, to: width)
        self.start = start
        // A sample older than the first goes into the first column: samples are in order unless a clock was set.
        var column = max(0, time.subtractingReportingOverflow(start).partialValue) / width
        while column >= Int64(maximumColumns) {
            halve()
            column /= 2
        }
        let index = Int(column)
        if index >= counts.count {
            counts.append(contentsOf: repeatElement(0, count: index + 1 - counts.count))
            columns.append(contentsOf: repeatElement(.none, count: counts.count * fieldCount - columns.count))
        }
        counts[index] &+= 1
        for field in 0..<fieldCount { columns[index * fieldCount + field].add(value(field)) }
    }

    private mutating func halve() {
        let count = (counts.count + 1) / 2
        for index in 0..<count {
            let (one, other) = (2 * index, 2 * index + 1)
            let hasOther = other < counts.count
            counts[index] = hasOther ? counts[one] &+ counts[other] : counts[one]
            for field in 0..<fieldCount {
                let extremes = columns[one * fieldCount + field]
                columns[index * fieldCount + field] =
                    hasOther ? extremes.joined(columns[other * fieldCount + field]) : extremes
            }
        }
        counts.removeSubrange(count...)
        columns.removeSubrange((count * fieldCount)...)
        width *= 2
    }

    /// The columns for a plot of a time range.
    /// - Parameters:
    ///   - range: nil for all.
    ///   - count: the number of columns; the result may have as few as half of that.
    package func part(_ range: Range<Int64>? = nil, columns count: Int) -> Part {
        var part = Part(width: width, fields: Array(repeating: [], count: fieldCount))
        guard let start, let span else { return part }
        let range = (range ?? span).clamped(to: span)
        guard !range.isEmpty else { return part }
        let first = Int((range.lowerBound - start) / width)
        let end = Int((range.upperBound - start + width - 1) / width)
        let step = max(1, (end - first + max(1, count) - 1) / max(1, count))
        part.width = width * Int64(step)
        for place in stride(from: first / step * step, to: end, by: step) {
            let indices = place..<min(place + step, counts.count)
            guard indices.contains(where: { counts[$0] != 0 }) else { continue }
            part.times.append(start + Int64(place) * width)
            for field in 0..<fieldCount {
                part.fields[field].append(
                    indices.reduce(.none) { $0.joined(columns[$1 * fieldCount + field]) })
            }
        }
        return part
    }

    private static func floor(_ time: Int64, to width: Int64) -> Int64 {
        let rest = time % width
        return time - (rest < 0 ? rest + width : rest)
    }
}
