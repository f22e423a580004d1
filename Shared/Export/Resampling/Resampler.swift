import Messages
package import Recording

/// Resamples a stream and passes the result to a sink: at whole multiples of the new interval since the session's start,
/// interpolated linearly between neighbouring samples.
///
/// Gaps are not filled: nothing is interpolated between samples that are not consecutive, or that are more than a few of the
/// stream's own intervals apart. A value that is not a number is taken from the sample before, and a number that
/// either neighbour lacks is absent. If times repeat or go back, each multiple has only its first sample.
package struct Resampler<Sink: RowSink>: RowSink {
    package var sink: Sink
    /// How many samples were passed on.
    package private(set) var samples = 0
    /// The times of the first and the last sample passed on.
    package private(set) var first: Int64?
    package private(set) var last: Int64?

    private let interval: Double
    /// The longest time between two neighbours, in nanoseconds.
    private var longestStep: Int64
    private let log: SessionRecord.Log
    /// The epoch that `longestStep` is for.
    private var epoch: String?
    private let kinds: [ExportedStream.Column.Kind]
    private var previous: Sample?
    /// The last multiple of the interval that has a sample: times may repeat or go back.
    private var lastTick = Int.min
    private let output = Output()

    private struct Sample {
        var time: Int64
        /// The numbers; `nil` for an absent one, and for other kinds.
        var values: [Double?]
        var texts: [String?]
    }

    /// The memory of the row passed on. A class, because a buffer can't be copied but a resampler can.
    private final class Output {
        var text = ByteBuffer(capacity: 1 << 10)
        var cells: [Range<Int>] = []
    }

    /// The longest distance to interpolate across, in intervals of the stream's own rate.
    private static var longestIntervals: Double { 3 }

    /// - Parameters:
    ///   - log: has the rate of each epoch; without a rate, neighbours may be up to a second apart.
    ///   - rate: the new rate, in samples per second.
    package init(_ sink: Sink, _ stream: ExportedStream, of log: SessionRecord.Log, rate: Double) {
        self.sink = sink
        interval = 1e9 / rate
        self.log = log
        epoch = log.epochs.first?.epoch
        longestStep = Self.longestStep(in: log.epochs.first, of: log)
        kinds = stream.columns.map(\.kind)
    }

    private static func longestStep(in epoch: SessionRecord.Epoch?, of log: SessionRecord.Log) -> Int64 {
        log.rate(of: epoch).map { Int64(longestIntervals * 1e9 / max(1e-6, $0)) } ?? 1_000_000_000
    }

    package mutating func append(_ absence: StreamBreak) {
        previous = nil
        if absence.next != epoch {
            epoch = absence.next
            longestStep = Self.longestStep(in: log.epoch(absence.next), of: log)
        }
        // Another run of the publisher may have other times.
        if absence.reason == StreamBreak.newEpoch { lastTick = .min }
        sink.append(absence)
    }

    package mutating func append(_ row: SampleRow) {
        guard let time = row.time else { return }
        let next = Sample(
            time: time,
            values: kinds.indices.map { kinds[$0] == .number && !row.isNull($0) ? row.number($0) : nil },
            texts: kinds.indices.map { kinds[$0] == .number || row.isNull($0) ? nil : row.text($0, kinds[$0]) })
        defer { previous = next }
        guard let last = previous, time > last.time, time - last.time <= longestStep else {
            // The first sample of a run is passed on only if it lies on the grid.
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
        guard tick > lastTick else { return }
        lastTick = tick
        output.text.removeAll()
        output.cells.removeAll(keepingCapacity: true)
        let time = time(of: tick)
        Nanoseconds.append(time, to: &output.text)
        let timestamp = 0..<output.text.count
        for (index, kind) in kinds.enumerated() {
            let start = output.text.count
            switch kind {
            case .number:
                guard let from = before.values[index], let to = behind.values[index] else {
                    output.text.append(utf8: "null")
                    break
                }
                // A value that both samples share stays exact.
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
