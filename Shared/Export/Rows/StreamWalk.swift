package import Files
import Messages
package import Recording

/// Reads a stream's records, converts their times to the clock of the export, and passes them to a sink.
package struct StreamWalk {
    package private(set) var samples = 0
    /// The times of the first and the last sample, in nanoseconds since the session's start.
    package private(set) var first: Int64?
    package private(set) var last: Int64?
    package private(set) var breaks: [StreamBreak] = []
    /// Ranges of samples that were filled in after the session.
    package private(set) var filled: [FilledSpan] = []
    /// Damage that was found, described for people.
    package private(set) var damage: [String] = []

    private let clock: ExportClock
    private let alignments: [String: ClockAlignment]
    /// The alignment for the current epoch.
    private var alignment = ClockAlignment([])
    private var epochChanges = 0
    /// Breaks after which no sample came yet.
    private var open: [StreamBreak] = []

    /// - Parameter alignments: the alignment of the publisher's clock in each epoch.
    package init(clock: ExportClock, alignments: [String: ClockAlignment]) {
        self.clock = clock
        self.alignments = alignments
    }

    /// Reads up to this many bytes, or to the end.
    ///
    /// - Returns: whether there is more.
    package mutating func read(
        _ reader: inout StreamReader, bytes: Int, into sink: inout some RowSink
    ) throws(RecordingError) -> Bool {
        let end = reader.bytesRead + bytes
        while let item = try reader.next() {
            switch item {
            case .sample: append(reader, to: &sink)
            case .marker(let marker, let discontinuity): note(marker, discontinuity)
            case .absent(let file, let removed):
                open.append(
                    StreamBreak(reason: Self.reason(removed), count: file.samples, date: removed?.date))
            }
            if reader.bytesRead >= end { return true }
        }
        damage = reader.damage
        if !open.isEmpty { closeBreaks(before: nil, in: &sink) }
        return false
    }

    private static func reason(_ removed: RemovedFile?) -> String {
        guard let removed else { return StreamBreak.missing }
        return removed.reason == RemovedFile.ring ? StreamBreak.ring : StreamBreak.removed
    }

    /// Takes over the number and times of the samples that a resampler passed on.
    package mutating func note(_ resampler: Resampler<some RowSink>) {
        samples = resampler.samples
        first = resampler.first
        last = resampler.last
    }

    @inline(__always)
    private mutating func append(_ reader: borrowing StreamReader, to sink: inout some RowSink) {
        if reader.epochChanges != epochChanges {
            epochChanges = reader.epochChanges
            alignment = (clock == .own ? nil : reader.epoch.flatMap { alignments[$0] }) ?? ClockAlignment([])
        }
        reader.withSample { bytes, timestamp, cells in
            var time = Nanoseconds.parse(UnsafeRawBufferPointer(rebasing: bytes[timestamp]))
            if let own = time { time = alignment.recorderTime(of: own) }
            if !open.isEmpty { closeBreaks(before: time, in: &sink) }
            sink.append(
                SampleRow(
                    bytes: bytes, cells: cells, isJSON: !reader.format.isTable, timestamp: timestamp, time: time,
                    sequence: reader.sequence))
            samples += 1
            if reader.isFilled { noteFilled(reader, at: time) }
            if let time {
                if first == nil { first = time }
                last = time
            }
        }
    }

    private mutating func noteFilled(_ reader: borrowing StreamReader, at time: Int64?) {
        let isNext = filled.last.map { $0.epoch == reader.epoch && $0.end == samples - 1 } ?? false
        if !isNext {
            filled.append(
                FilledSpan(
                    epoch: reader.epoch, from: reader.sequence, samples: 0, end: samples - 1, first: time, last: time))
        }
        filled[filled.count - 1].samples += 1
        filled[filled.count - 1].end = samples
        filled[filled.count - 1].last = time
    }

    private mutating func closeBreaks(before time: Int64?, in sink: inout some RowSink) {
        for var absence in open {
            absence.after = last
            absence.before = time
            breaks.append(absence)
            sink.append(absence)
        }
        open = []
    }

    private mutating func note(_ marker: LogRecord, _ discontinuity: StreamReader.Discontinuity?) {
        if let gap = marker.gap {
            open.append(
                StreamBreak(
                    reason: gap.reason.rawValue, epoch: gap.epoch, from: gap.from, count: gap.count, date: gap.date))
        }
        switch discontinuity {
        case nil: break
        case .newEpoch:
            open.append(
                StreamBreak(
                    reason: StreamBreak.newEpoch, epoch: marker["epoch"], from: marker.position?.from, count: 0,
                    date: marker.date))
        case .skipped(let from, let count):
            open.append(
                StreamBreak(
                    reason: StreamBreak.paused, epoch: marker["epoch"], from: from, count: count, date: marker.date))
        }
    }
}
