import Messages

/// Gives a sink a stream's samples at another rate: on whole multiples of the new interval since the session's start, linear
/// between the samples around each.
///
/// Nothing is made up for a gap: no sample lies between two that do not follow on each other, or that are further apart than a few
/// of the stream's own intervals. A value that is no number is that of the sample before.
package struct Resampler<Sink: RowSink>: RowSink {
    package var sink: Sink
    /// How many samples came out.
    package private(set) var samples = 0
    /// The times of the first and the last.
    package private(set) var first: Int64?
    package private(set) var last: Int64?

    private let interval: Double
    /// Nanoseconds that two neighbours are apart at most.
    private let longestStep: Int64
    private let kinds: [ExportedStream.Column.Kind]
    /// The sample before.
    private var previous: Sample?
    private let output = Output()

    private struct Sample {
        var time: Int64
        var values: [Double]
        var texts: [String?]
    }

    /// The memory of the row that is given on. A class, because a buffer can't be copied and a resampler can.
    private final class Output {
        var text = ByteBuffer(capacity: 1 << 10)
        var cells: [Range<Int>] = []
    }

    /// Intervals of the stream, of its own rate, across which is interpolated at most.
    private static var longestIntervals: Double { 3 }

    /// - Parameters:
    ///   - rate: samples per second to come out.
    ///   - ownRate: of the stream; nil if it is unknown: then neighbours are a second apart at most.
    package init(_ sink: Sink, _ stream: ExportedStream, rate: Double, ownRate: Double?) {
        self.sink = sink
        interval = 1e9 / rate
        longestStep = ownRate.map { Int64(Self.longestIntervals * 1e9 / max(1e-6, $0)) } ?? 1_000_000_000
        kinds = stream.columns.map(\.kind)
    }

    package mutating func append(_ absence: StreamBreak) {
        previous = nil
        sink.append(absence)
    }

    package mutating func append(_ row: SampleRow) {
        guard let time = row.time else { return }
        let next = Sample(
            time: time, values: kinds.indices.map { kinds[$0] == .number ? row.number($0) : .nan },
            texts: kinds.indices.map { kinds[$0] == .number || row.isNull($0) ? nil : row.text($0) })
        defer { previous = next }
        guard let last = previous, time > last.time, time - last.time <= longestStep else {
            // The first of its run comes out if it lies on the grid.
            if let tick = tick(atOrAfter: time), self.time(of: tick) == time { give(tick, next, next, part: 0) }
            return
        }
        guard var tick = tick(atOrAfter: last.time + 1) else { return }
        while self.time(of: tick) <= time {
            let part = Double(self.time(of: tick) - last.time) / Double(time - last.time)
            give(tick, part == 1 ? next : last, next, part: part)
            tick += 1
        }
    }

    private func time(of tick: Int) -> Int64 { Int64((Double(tick) * interval).rounded()) }

    private func tick(atOrAfter time: Int64) -> Int? {
        guard var tick = Int(exactly: (Double(time) / interval).rounded(.down)) else { return nil }
        while self.time(of: tick) < time { tick += 1 }
        return tick
    }

    private mutating func give(_ tick: Int, _ before: Sample, _ behind: Sample, part: Double) {
        output.text.removeAll()
        output.cells.removeAll(keepingCapacity: true)
        let time = time(of: tick)
        Nanoseconds.append(time, to: &output.text)
        let timestamp = 0..<output.text.count
        for (index, kind) in kinds.enumerated() {
            let start = output.text.count
            switch kind {
            case .number:
                let (from, to) = (before.values[index], behind.values[index])
                // What both have is exact.
                output.text.append(json: from == to || part == 1 ? to : from + (to - from) * part)
            case .text:
                before.texts[index].map { output.text.append(jsonString: $0) } ?? output.text.append(utf8: "null")
            case .boolean, .json: output.text.append(utf8: before.texts[index] ?? "null")
            }
            output.cells.append(start..<output.text.count)
        }
        samples += 1
        first = first ?? time
        last = time
        output.text.withUnsafeBytes { bytes in
            output.cells.withUnsafeBufferPointer { cells in
                sink.append(
                    SampleRow(
                        bytes: bytes, cells: cells, isJSON: true, timestamp: timestamp, time: time, sequence: tick))
            }
        }
    }
}
