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
    /// The epoch of the last sample.
    private var epoch: String?
    /// Breaks after which no sample came yet.
    private var open: [StreamBreak] = []
    /// Whether a pause began after the last sample.
    private var isPaused = false
    /// How many of the reader's descriptions of damage a break stands for.
    private var listedDamage = 0

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
            case .marker(let marker, let discontinuity): note(marker, discontinuity, damage: reader.damage.count)
            case .absent(let file, let removed):
                // The reader describes a missing file, too, which has a break of its own.
                listDamage(reader.damage.count - (removed == nil ? 1 : 0))
                listedDamage = reader.damage.count
                begin(StreamBreak(reason: Self.reason(removed), count: file.samples, date: removed?.date))
            }
            if reader.bytesRead >= end { return true }
        }
        damage = reader.damage
        listDamage(damage.count)
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
        listDamage(reader.damage.count)
        if isPaused { endPause(reader) }
        if reader.epochChanges != epochChanges {
            epochChanges = reader.epochChanges
            epoch = reader.epoch
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

    // MARK: Breaks

    private mutating func begin(_ absence: StreamBreak) {
        var absence = absence
        absence.after = last
        absence.neighbour = epoch
        open.append(absence)
    }

    private mutating func closeBreaks(before time: Int64?, in sink: inout some RowSink) {
        for var absence in open {
            absence.before = time
            absence.next = epoch
            if absence.after == nil { absence.neighbour = epoch }
            breaks.append(absence)
            sink.append(absence)
        }
        open = []
    }

    /// Begins a break if there is damage for which none stands yet.
    /// - Parameters:
    ///   - damage: how many descriptions of damage there are.
    ///   - count: how many samples can't be read, from `from` on, if a marker shows it.
    private mutating func listDamage(_ damage: Int, from: Int? = nil, count: Int = 0) {
        guard damage > listedDamage else { return }
        listedDamage = damage
        begin(StreamBreak(reason: StreamBreak.damaged, epoch: epoch, from: from, count: count))
    }

    /// Begins a break for the sleep of an imported device, whose samples are numbered on. A recorder marks those that it left out.
    private mutating func endPause(_ reader: borrowing StreamReader) {
        isPaused = false
        let epoch = reader.epoch
        guard open.isEmpty, samples > 0,
            reader.log.epochs.contains(where: { $0.epoch == epoch && $0.replay.isEmpty })
        else { return }
        begin(StreamBreak(reason: StreamBreak.paused, epoch: epoch, count: 0))
    }

    private mutating func note(_ marker: LogRecord, _ discontinuity: StreamReader.Discontinuity?, damage: Int) {
        if marker.marker == Marker.Event.pause.name { isPaused = true }
        if let gap = marker.gap {
            begin(
                StreamBreak(
                    reason: gap.reason.rawValue, epoch: gap.epoch, from: gap.from, count: gap.count, date: gap.date))
        }
        switch discontinuity {
        case nil: break
        case .newEpoch:
            listDamage(damage)
            begin(
                StreamBreak(
                    reason: StreamBreak.newEpoch, epoch: marker["epoch"], from: marker.position?.from, count: 0,
                    date: marker.date))
        case .skipped(let from, let count):
            if damage > listedDamage { return listDamage(damage, from: from, count: count) }
            begin(
                StreamBreak(
                    reason: StreamBreak.paused, epoch: marker["epoch"], from: from, count: count, date: marker.date))
        }
    }
}
