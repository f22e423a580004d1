package import Files
import Messages

/// Adds a session to a Motion-BIDS data set: a table for each stream with its description, channels and events.
///
/// Subjects and runs share `dataset_description.json`, `participants.tsv` and a subject's list of scans; their entries for other
/// exports are kept.
package struct BIDSExport: ExportWriter {
    private let directory: ExportDirectory
    private let session: ExportedSession
    private let names: MotionNames
    private let version: String
    private let streamTime: StreamTime

    private var stream: ExportedStream?
    private var table: MotionTable?
    private var motion: OutputFile?
    private var events: OutputFile?
    private var first: Int64?
    /// The session's events after the samples so far.
    private var pending: ArraySlice<ExportedSession.Event> = []
    /// The last value of each column that is not numeric.
    private var texts: [Int: String] = [:]
    /// Whether the stream has such columns.
    private var hasTexts = false
    private var scans: [String: String] = [:]

    /// Converts a time on the recorder's clock to the clock of a stream's samples.
    package typealias StreamTime = (_ time: Int64, _ stream: ExportedStream) -> Int64

    package init(
        _ session: ExportedSession, names: MotionNames, version: String, in directory: ExportDirectory,
        streamTime: @escaping StreamTime
    ) {
        self.session = session
        self.names = names
        self.version = version
        self.directory = directory
        self.streamTime = streamTime
    }

    package var provenanceName: String { names.provenance }

    package func files(of stream: ExportedStream) -> [String] { [names.path(of: stream.name, "motion.tsv")] }

    package mutating func begin(_ stream: ExportedStream) throws(RecordingError) {
        self.stream = stream
        table = MotionTable(stream)
        motion = try directory.create(names.path(of: stream.name, "motion.tsv"))
        let events = try directory.create(names.path(of: stream.name, "events.tsv"))
        events.buffer.append(utf8: "onset\tduration\ttrial_type\tvalue\tcount\n")
        self.events = events
        first = nil
        pending =
            session.events.filter { $0.stream ?? stream.name == stream.name }.map { event in
                var event = event
                event.time = streamTime(event.time, stream)
                return event
            }[...]
        texts = [:]
        hasTexts = stream.columns.contains { $0.kind != .number }
    }

    @inline(__always)
    package mutating func append(_ row: SampleRow) {
        guard let motion, let time = row.time else { return }
        if first == nil { first = time }
        if let next = pending.first, next.time <= time { appendEvents(upTo: time) }
        table?.append(row, to: &motion.buffer)
        if hasTexts, let stream { appendTexts(of: row, stream, at: time) }
    }

    /// Values that are not numbers become events when they change.
    private mutating func appendTexts(of row: SampleRow, _ stream: ExportedStream, at time: Int64) {
        for (index, column) in stream.columns.enumerated() where column.kind != .number {
            let text = row.isNull(index) ? nil : row.text(index, column.kind)
            guard texts[index] != text else { continue }
            texts[index] = text
            appendEvent(at: time, duration: 0, column.name, value: text, count: nil)
        }
    }

    package mutating func append(_ absence: StreamBreak) {
        // A gap before the first sample is not in the table, and one after the last has no end.
        guard let after = absence.after else { return }
        appendEvents(upTo: after)
        appendEvent(
            at: after, duration: absence.before.map { $0 - after }, "gap", value: absence.reason, count: absence.count)
    }

    private mutating func appendEvents(upTo time: Int64) {
        while let event = pending.first, event.time <= time {
            pending.removeFirst()
            appendEvent(
                at: event.time, duration: event.duration, event.name,
                value: event.bout.map { "\($0.confidence)" } ?? event.value, count: event.bout?.steps)
        }
    }

    private func appendEvent(at time: Int64, duration: Int64?, _ type: String, value: String?, count: Int?) {
        guard let events, let first else { return }
        Nanoseconds.append(time - first, to: &events.buffer)
        events.buffer.append(UInt8(ascii: "\t"))
        if let duration { Nanoseconds.append(duration, to: &events.buffer) } else { events.buffer.append(utf8: "n/a") }
        let fields = [type, value, count.map { "\($0)" }]
        events.buffer.append(utf8: "\t" + session.line(fields, absent: "n/a"))
    }

    package mutating func writeIfFull() throws(RecordingError) {
        try motion?.writeIfFull()
        try events?.writeIfFull()
    }

    package mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError) {
        appendEvents(upTo: .max)
        if let motion { try directory.finish(motion) }
        if let events { try directory.finish(events) }
        motion = nil
        events = nil
        let channels = MotionTable.channels(of: stream)
        let lines = channels.map {
            session.line([$0.name, $0.component, $0.type, $0.trackedPoint, $0.units], absent: "n/a")
        }
        try directory.write(
            names.path(of: stream.name, "channels.tsv"),
            Array(("name\tcomponent\ttype\ttracked_point\tunits\n" + lines.joined()).utf8))
        try directory.write(names.path(of: stream.name, "events.json"), StoredJSON.document(eventColumns))
        try directory.write(
            names.path(of: stream.name, "motion.json"),
            StoredJSON.document(MotionDescription(stream, channels, walk, session, names, version: version)))
        let path = scan(ofFile: names.path(of: stream.name, "motion.tsv"))
        scans[path] = walk.first.map { WallTime(nanosecondsSince1970: session.startDate &+ $0).utcText } ?? "n/a"
    }

    package mutating func finish() throws(RecordingError) {
        // Scans of the replaced export are dropped: a data set must not list files that do not exist.
        let superseded = directory.superseded(by: provenanceName).map(scan(ofFile:))
        try directory.write(
            names.scans,
            merged(names.scans, columns: ["filename", "acq_time"], scans, without: Set(superseded)), isShared: true)
        try directory.write(
            "participants.tsv",
            merged("participants.tsv", columns: ["participant_id"], ["sub-\(names.subject)": nil]), isShared: true)
        let description = "dataset_description.json"
        try directory.write(
            description,
            try directory.existing(description)
                ?? StoredJSON.document(DatasetDescription(GeneratedBy: [.init(Version: version)])),
            isShared: true)
    }

    /// A file as a subject's list of scans names it: by its path in the subject's directory.
    private func scan(ofFile name: String) -> String {
        name.split(separator: "/").dropFirst().joined(separator: "/")
    }

    /// A table from an earlier export, with lines added, changed and removed by their first column.
    /// - Parameters:
    ///   - columns: one or two names. Other columns of the table are kept.
    ///   - lines: the value of the second column, if there is one, by that of the first.
    private func merged(
        _ name: String, columns: [String], _ lines: [String: String?], without removed: Set<String> = []
    ) throws(RecordingError) -> [UInt8] {
        let old = try directory.existing(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
        // Somebody may have edited the table with a program that writes a byte order mark, and CR LF, which is one Character.
        var rows = (old.first == "\u{FEFF}" ? old.dropFirst() : old[...])
            .split { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        if rows.isEmpty { rows = [columns] }
        // Somebody may have added columns, even before the second.
        let header = rows[0]
        let place = columns.count > 1 ? header.firstIndex(of: columns[1]) : nil
        func set(_ value: String?, in row: inout [String]) {
            guard let value, let place else { return }
            while row.count < header.count { row.append("n/a") }
            row[place] = value
        }
        rows = [header] + rows.dropFirst().filter { !removed.contains($0[0]) }
        var lines = lines
        for index in rows.indices.dropFirst() {
            if let value = lines.removeValue(forKey: rows[index][0]) { set(value, in: &rows[index]) }
        }
        for (key, value) in lines.sorted(by: { $0.key < $1.key }) {
            var row = [key] + [String](repeating: "n/a", count: header.count - 1)
            set(value, in: &row)
            rows.append(row)
        }
        return Array(rows.map { $0.joined(separator: "\t") + "\n" }.joined().utf8)
    }

    // MARK: Descriptions

    private var eventColumns: [String: [String: String]] {
        if session.events.contains(where: { $0.bout != nil }) {
            return Self.eventColumns.merging(Self.boutColumns) { $1 }
        }
        guard session.events.contains(where: { $0.annotation != nil }) else { return Self.eventColumns }
        return Self.eventColumns.merging([
            "trial_type": [
                "Description":
                    "What happened: start, step, pause, resume, stop, annotation, gap, or a column that changed."
            ],
            "value": ["Description": "The step, an annotation's label, the reason of a gap, or the column's value."],
        ]) { $1 }
    }

    private static let boutColumns: [String: [String: String]] = [
        "trial_type": [
            "Description":
                "What happened: start, step, pause, resume, stop, annotation, walking, gap, or a column that changed."
        ],
        "value": [
            "Description":
                "The step, an annotation's label, how likely a bout is walking, the reason of a gap, or the column's value."
        ],
        "count": ["Description": "How many samples a gap has, 0 if that is unknown; how many steps a bout has."],
    ]

    private static let eventColumns: [String: [String: String]] = [
        "onset": ["Description": "Seconds from the first sample.", "Units": "s"],
        "duration": ["Description": "Seconds; of a gap, from the sample before to the sample behind.", "Units": "s"],
        "trial_type": [
            "Description": "What happened: start, step, pause, resume, stop, gap, or a column that changed."
        ],
        "value": ["Description": "The step, the reason of a gap, or the column's value."],
        "count": ["Description": "How many samples a gap has; 0 if that is unknown."],
    ]
}
