package import Files
import Messages

/// Writes a directory for a session: a table for each stream, `gaps.tsv`, `events.tsv` and, if they have contents,
/// `annotations.tsv`, `bouts.tsv` and `filled.tsv`.
package struct CSVExport: ExportWriter {
    private let directory: ExportDirectory
    private let session: ExportedSession
    private var rows: CSVRows?
    private var file: OutputFile?
    private var gaps = ""
    private var filled = ""

    package init(_ session: ExportedSession, in directory: ExportDirectory) {
        self.session = session
        self.directory = directory
    }

    package var provenanceName: String { "\(session.name)/provenance.json" }

    package func files(of stream: ExportedStream) -> [String] { ["\(session.name)/\(stream.log).csv"] }

    package mutating func begin(_ stream: ExportedStream) throws(RecordingError) {
        let rows = CSVRows(stream, clock: session.clock, startDate: session.startDate)
        let file = try directory.create("\(session.name)/\(stream.log).csv")
        rows.appendHeader(to: &file.buffer)
        self.rows = rows
        self.file = file
    }

    @inline(__always)
    package mutating func append(_ row: SampleRow) {
        guard let file else { return }
        rows?.append(row, to: &file.buffer)
    }

    package mutating func append(_ absence: StreamBreak) {}

    package mutating func writeIfFull() throws(RecordingError) { try file?.writeIfFull() }

    package mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError) {
        if let file { try directory.finish(file) }
        file = nil
        for absence in walk.breaks {
            gaps += session.line(
                [
                    stream.name.description, absence.after.map(session.text(of:)),
                    absence.before.map(session.text(of:)),
                    absence.reason, absence.epoch, absence.from.map { "\($0)" }, "\(absence.count)",
                ])
        }
        for span in walk.filled {
            filled += session.line(
                [
                    stream.name.description, span.first.map(session.text(of:)), span.last.map(session.text(of:)),
                    span.epoch, "\(span.from)", "\(span.samples)",
                ])
        }
    }

    package mutating func finish() throws(RecordingError) {
        if !filled.isEmpty {
            let columns = "stream\tfirst\tlast\tepoch\tfrom\tsamples\n"
            try directory.write("\(session.name)/filled.tsv", Array((columns + filled).utf8))
        }
        let header = "stream\tafter\tbefore\treason\tepoch\tfrom\tcount\n"
        try directory.write("\(session.name)/gaps.tsv", Array((header + gaps).utf8))
        let events = session.events.filter { $0.annotation == nil && $0.bout == nil }
        // The column is added only if an event concerns a stream: otherwise it would change the tables of all other sessions.
        let hasStreams = events.contains { $0.stream != nil }
        let lines = events.map { event in
            session.line(
                [session.text(of: event.time), event.name, event.step]
                    + (hasStreams ? [event.stream?.description] : []))
        }
        let columns = hasStreams ? "time\tevent\tstep\tstream\n" : "time\tevent\tstep\n"
        try directory.write("\(session.name)/events.tsv", Array((columns + lines.joined()).utf8))
        let annotations = session.events.compactMap { event in
            event.annotation.map { annotation in
                let end = annotation.to.map { _ in session.text(of: event.time + event.duration) }
                return session.line(
                    [
                        session.text(of: event.time), end, annotation.label, annotation.stream?.description,
                        annotation.note,
                    ])
            }
        }
        try writeBouts()
        if annotations.isEmpty { return }
        try directory.write(
            "\(session.name)/annotations.tsv", Array(("from\tto\tlabel\tstream\tnote\n" + annotations.joined()).utf8))
    }

    /// Writes the bouts of walking, if any were counted.
    private func writeBouts() throws(RecordingError) {
        let lines = session.events.compactMap { event in
            event.bout.map { bout in
                let numbers = [
                    bout.confidence, bout.gait.walkingTime, bout.gait.cadence, bout.gait.stepTime, bout.gait.strideTime,
                    bout.gait.strideTimeVariability,
                ]
                return session.line(
                    [
                        bout.stream.description, session.text(of: event.time),
                        session.text(of: event.time + bout.duration),
                        "\(bout.steps)",
                    ] + numbers.map { $0.map { "\($0)" } } + ["\(bout.gait.strides)"])
            }
        }
        if lines.isEmpty { return }
        let header =
            "stream\tfrom\tto\tsteps\tconfidence\twalkingTime\tcadence\tstepTime\tstrideTime\tstrideTimeVariability\tstrides\n"
        try directory.write("\(session.name)/bouts.tsv", Array((header + lines.joined()).utf8))
    }
}
