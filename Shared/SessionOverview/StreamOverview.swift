package import Files
package import Messages
package import Recording

/// A stream of a session over its whole length: its envelope, and where samples are missing.
package struct StreamOverview: Sendable {
    /// A time range without samples.
    package struct Hole: Hashable, Sendable {
        /// The times of the samples before and after the hole, in nanoseconds since the session's start; nil at the stream's
        /// ends.
        package var from: Int64?
        package var to: Int64?
    }

    /// Limit of columns; in an hour of data, each is a sixteenth of a second wide.
    package static let maximumColumns = 65_536
    private static let maximumHoles = 10_000

    package let stream: StreamName
    /// The numeric fields.
    package let fields: [String]
    /// The unit, for people.
    package let unit: String?
    package private(set) var envelope: Envelope
    package private(set) var samples = 0
    /// The times between consecutive samples.
    package private(set) var intervals = IntervalHistogram()
    /// Where samples were lost; limited in number, so some may be left out.
    package private(set) var gaps: [Hole] = []
    /// Files that are missing or were changed since the recording, described for people.
    package private(set) var damage: [String] = []

    /// Approximate size in memory, in bytes.
    package var byteCount: Int { envelope.byteCount + gaps.count * MemoryLayout<Hole>.stride + 1_000 }

    /// Reads a stream's files, one record at a time.
    /// - Parameter log: a log of the record.
    /// - Throws: `RecordingError` if a file can't be read.
    package init(
        _ log: SessionRecord.Log, of record: SessionRecord, in session: SessionDirectory,
        maximumColumns: Int = maximumColumns
    ) throws(RecordingError) {
        var reader = try StreamReader(log, of: record, in: session, acceptsDamage: true)
        stream = StreamName(device: log.device, stream: log.stream)
        unit = log.unitText
        let whole = reader.log
        let numeric = (1..<max(1, whole.fields.count)).filter { FieldType.type(of: $0, in: whole.types) == .number }
        fields = numeric.map { whole.fields[$0] }
        var envelope = Envelope(fields: numeric.count, maximumColumns: maximumColumns)
        var samples = 0
        var intervals = IntervalHistogram()
        var last: Int64?
        /// The time of the previous sample, if the next one may be consecutive.
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
        // A file that was truncated between two records can be read to its end without an error.
        for file in log.files where session.directory.contains(file.name) {
            let bytes = session.size(of: file.name)
            if bytes != file.bytes { damage.append("\(file.name): it has \(bytes) bytes, and had \(file.bytes)") }
        }
    }
}
