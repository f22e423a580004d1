/// The least and the largest value of each field in each column of time: what a plot of a stream shows, however long it is.
///
/// A pure value whose size does not grow with the stream: when there are too many columns, two become one. Time is in
/// nanoseconds, since whenever.
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

        /// Takes a value in. NaN is none.
        mutating func add(_ value: Double) {
            // Nothing is less than NaN.
            if !(least <= value), !value.isNaN { least = value }
            if !(most >= value), !value.isNaN { most = value }
        }

        func joined(_ other: Extremes) -> Extremes {
            var joined = self
            joined.add(other.least)
            joined.add(other.most)
            return joined
        }
    }

    /// Columns of a part of it.
    package struct Part: Hashable, Sendable {
        /// How wide a column is.
        package var width: Int64
        /// When the columns begin that have samples, in order.
        package var times: [Int64] = []
        /// For each field, its values in these columns.
        package var fields: [[Extremes]]
    }

    private static let firstWidth: Int64 = 1_000_000

    private let fieldCount: Int
    private let maximumColumns: Int
    /// How wide a column is.
    package private(set) var width = firstWidth
    /// When the first column begins.
    private var start: Int64?
    /// The columns, each with all fields.
    private var columns: [Extremes] = []
    /// Which columns have samples.
    private var counts: [Int32] = []

    /// An empty one.
    /// - Parameter maximumColumns: an even number.
    package init(fields: Int, maximumColumns: Int) {
        fieldCount = fields
        self.maximumColumns = max(2, maximumColumns / 2 * 2)
    }

    /// Bytes that it takes in memory.
    package var byteCount: Int { columns.count * MemoryLayout<Extremes>.stride + counts.count * 4 }

    /// When the first column begins, and the last ends; nil if it is empty.
    package var span: Range<Int64>? { start.map { $0..<$0 + Int64(counts.count) * width } }

    /// Takes a sample in.
    /// - Parameter value: asked for each field, by its index.
    package mutating func add(at time: Int64, _ value: (Int) -> Double) {
        let start = self.start ?? Self.floor(time, to: width)
        self.start = start
        // What is older than the first is drawn with it: samples are in order but for a clock that was set.
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

    /// What a plot of a time shows.
    /// - Parameters:
    ///   - range: nil for all.
    ///   - count: so many columns, or up to twice as few.
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
