package import Files
package import Messages
package import Recording

/// A stream of a session over its whole length: its envelope, and where samples are missing.
package struct StreamOverview: Sendable {
    /// A time without samples.
    package struct Hole: Hashable, Sendable {
        /// The samples before and after it, in nanoseconds since the session's start; nil at the stream's ends.
        package var from: Int64?
        package var to: Int64?
    }

    /// Columns that are kept: those of an hour are a sixteenth of a second wide.
    package static let maximumColumns = 65_536
    private static let maximumHoles = 10_000

    package let stream: StreamName
    /// The fields that are numbers.
    package let fields: [String]
    package let unit: String?
    package private(set) var envelope: Envelope
    package private(set) var samples = 0
    /// The times between samples that follow on each other.
    package private(set) var intervals = IntervalHistogram()
    /// Where samples were lost. There may be more than are kept.
    package private(set) var gaps: [Hole] = []
    /// What can't be read, for a person.
    package private(set) var damage: [String] = []

    /// Bytes that it takes in memory, about.
    package var byteCount: Int { envelope.byteCount + gaps.count * MemoryLayout<Hole>.stride + 1_000 }

    /// Reads a stream's files, one record at a time.
    /// - Parameter log: one of the record's.
    /// - Throws: `RecordingError` if a file can't be read.
    package init(
        _ log: SessionRecord.Log, of record: SessionRecord, in session: SessionDirectory,
        maximumColumns: Int = maximumColumns
    ) throws(RecordingError) {
        var reader = try StreamReader(log, of: record, in: session, acceptsDamage: true)
        stream = StreamName(device: log.device, stream: log.stream)
        unit = log.unit
        let numeric = (1..<max(1, log.fields.count)).filter { field in
            log.types.map { field < $0.count && $0[field] == .number } ?? true
        }
        fields = numeric.map { log.fields[$0] }
        var envelope = Envelope(fields: numeric.count, maximumColumns: maximumColumns)
        var samples = 0
        var intervals = IntervalHistogram()
        var last: Int64?
        /// The sample before, if the next one follows on it.
        var previous: Int64?
        var open: Hole?
        var gaps: [Hole] = []
        func close(_ next: Int64?) {
            guard var hole = open else { return }
            open = nil
            hole.to = next
            if gaps.count < Self.maximumHoles { gaps.append(hole) }
        }
        while let item = try reader.next() {
            switch item {
            case .sample:
                reader.withSample { bytes, timestamp, values in
                    guard let seconds = DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[timestamp])),
                        seconds.magnitude < 9e9
                    else { return }
                    let time = Int64((seconds * 1e9).rounded())
                    if open != nil { close(time) }
                    if let previous { intervals.add(Double(time - previous) / 1e9) }
                    previous = time
                    last = time
                    samples += 1
                    envelope.add(at: time) { field in
                        let place = numeric[field] - 1
                        guard place < values.count else { return .nan }
                        return DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[values[place]])) ?? .nan
                    }
                }
            case .marker(let marker, let discontinuity):
                if marker.gap != nil || discontinuity != nil { previous = nil }
                if marker.gap != nil, open == nil { open = Hole(from: last) }
            case .absent:
                previous = nil
                if open == nil { open = Hole(from: last) }
            }
        }
        close(nil)
        self.envelope = envelope
        self.samples = samples
        self.intervals = intervals
        self.gaps = gaps
        damage = reader.damage
    }
}
