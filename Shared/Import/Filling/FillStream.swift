import Files
import Messages
import Recording

/// A place in a stream where samples are lost, between two recorded samples.
struct GapHole {
    /// A sample next to the hole.
    struct Neighbour {
        var epoch: String
        /// Nanoseconds of the publisher's clock.
        var uptime: Int64
        /// Nanoseconds since the session's start.
        var timestamp: Int64
        var key: SampleKey

        /// The publisher's uptime at the session's start, in nanoseconds.
        var origin: Int64 { uptime - timestamp }
    }

    /// Consecutive gaps of one epoch.
    var gaps: [Gap]
    /// The samples before and after it, if they are of its epoch.
    var before: Neighbour?
    var after: Neighbour?
    /// The same, if they are of another epoch.
    var formerEpoch: Neighbour?
    var nextEpoch: Neighbour?
    /// The time range of the hole, in nanoseconds since the session's start.
    var earliest: Int64
    var latest: Int64
    /// Why it is impossible to determine the samples of the hole.
    var problem: String?

    var epoch: String { gaps[0].epoch }
    var origin: Int64? { (before ?? after)?.origin }
    /// The number of missing sample numbers.
    var count: Int { gaps.reduce(0) { $0.addingClamped($1.count) } }
}

/// A stream of a session that has gaps, with the data needed to fill them.
struct FillStream {
    /// How many recorded samples on each side of a gap are searched for in the export.
    private static let anchorsBesideGap = 16
    /// The most anchors of a stream: thousands of gaps need no more.
    private static let maximumAnchors = 2_048

    /// The stream's index in the session's record.
    let index: Int
    let log: SessionRecord.Log
    /// The fields after the uptime, and their types.
    let fields: [String]
    let types: [FieldType]
    private(set) var holes: [GapHole] = []
    /// Samples next to gaps, by epoch.
    private(set) var anchors: [String: [(uptime: Int64, key: SampleKey)]] = [:]

    var name: StreamName { StreamName(device: log.device, stream: log.stream) }
    var isNumeric: Bool { log.types == nil }

    /// Reads a stream of a finished session.
    init(_ index: Int, of record: SessionRecord, in session: SessionDirectory) throws(RecordingError) {
        self.index = index
        let log = record.logs[index]
        self.log = log
        fields = Array(log.fields.dropFirst())
        types = log.fields.indices.dropFirst().map { FieldType.type(of: $0, in: log.types) }
        try read(record, session)
    }

    private mutating func read(_ record: SessionRecord, _ session: SessionDirectory) throws(RecordingError) {
        var reader = try StreamReader(log, of: record, in: session)
        let isTable = reader.format.isTable
        var last: [GapHole.Neighbour] = []
        var lastTime: Int64 = 0
        var open: GapHole?
        var isAbsent = false
        var anchorsToCome = 0
        var anchorCount = 0
        func note(_ sample: GapHole.Neighbour) {
            guard anchorCount < Self.maximumAnchors else { return }
            anchorCount += 1
            anchors[sample.epoch, default: []].append((sample.uptime, sample.key))
        }
        func close(_ next: GapHole.Neighbour?) {
            guard var hole = open else { return }
            open = nil
            if next?.epoch == hole.epoch { hole.after = next } else { hole.nextEpoch = next }
            hole.latest = next?.timestamp ?? record.end(by: log.epoch(hole.epoch))
            if let one = hole.before, let other = hole.after, one.origin != other.origin {
                hole.problem = "the publisher's machine slept during it"
            }
            if hole.origin == nil { hole.problem = hole.problem ?? "no sample next to it has its epoch" }
            holes.append(hole)
        }
        while let item = try reader.next() {
            switch item {
            case .sample:
                var sample = GapHole.Neighbour(
                    epoch: reader.epoch ?? "", uptime: Self.nanoseconds(reader.uptime), timestamp: 0, key: SampleKey())
                reader.withSample { bytes, timestamp, values in
                    sample.timestamp = Self.nanoseconds(UnsafeRawBufferPointer(rebasing: bytes[timestamp]))
                    for (value, type) in zip(values, types) {
                        sample.key.add(
                            recorded: UnsafeRawBufferPointer(rebasing: bytes[value]), isTable: isTable, as: type)
                    }
                }
                // A sample without a time is not next to anything.
                if sample.timestamp == .max { continue }
                if open != nil {
                    close(sample)
                    anchorsToCome = Self.anchorsBesideGap
                }
                if anchorsToCome > 0 {
                    anchorsToCome -= 1
                    note(sample)
                }
                isAbsent = false
                lastTime = sample.timestamp
                last.append(sample)
                if last.count > Self.anchorsBesideGap { last.removeFirst() }
            case .marker(let marker, _):
                guard let gap = marker.gap else { continue }
                if let hole = open, hole.epoch == gap.epoch {
                    open?.gaps.append(gap)
                    continue
                }
                let isUnclear = open != nil
                if isUnclear { open?.problem = "another gap follows directly" }
                close(nil)
                // Samples that were noted as the ones after the previous gap are not noted again.
                for sample in last.dropFirst(anchorsToCome > 0 ? last.count : 0) { note(sample) }
                anchorsToCome = 0
                open = GapHole(gaps: [gap], earliest: lastTime, latest: .max)
                if last.last?.epoch == gap.epoch {
                    open?.before = last.last
                } else {
                    open?.formerEpoch = last.last
                }
                if isAbsent { open?.problem = "the file before it was removed" }
                if isUnclear { open?.problem = "it directly follows another gap" }
            case .absent:
                open?.problem = "the file after it was removed"
                close(nil)
                isAbsent = true
                last = []
            }
        }
        close(nil)
    }

    /// Converts a time in a file, in seconds, to nanoseconds; `.max` if the text is not a time.
    static func nanoseconds(_ text: UnsafeRawBufferPointer) -> Int64 { nanoseconds(DecimalParser.parse(text) ?? .nan) }

    private static func nanoseconds(_ seconds: Double) -> Int64 {
        let nanoseconds = (seconds * 1e9).rounded()
        return nanoseconds.magnitude < 0x1p62 ? Int64(nanoseconds) : .max
    }
}
