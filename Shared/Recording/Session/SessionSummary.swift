package import Files
import Glibc
package import Messages
import SystemPackage

/// The contents of a session's directory, for people and programs: times, streams, and sizes.
package struct SessionSummary: Codable, Hashable, Sendable {
    package var session: String
    package var task: String?
    package var status: SessionStatus
    package var startDate: WallTime
    package var endDate: WallTime?
    /// Seconds from the start to the end; for a session that is not over, to the last write on disk.
    package var duration: Double
    package var format: LogFormat
    package var steps: [SessionRecord.Step]
    package var pauses: [SessionRecord.Pause]
    /// The streams that are recorded only in some steps; `nil` if there are none.
    package var choices: [StreamChoice]?
    package var restarts: [WallTime]
    package var failures: [String]
    package var streams: [Stream]
    /// The valid annotations; `nil` if there are none.
    package var annotations: [Annotation]?
    /// The fills of lost samples after the session; `nil` if there are none.
    package var fills: [SessionReport.Fill]?

    package struct Stream: Codable, Hashable, Sendable {
        package var stream: StreamName
        package var log: LogName
        package var fields: [String]
        /// The types of the fields' values; `nil` if all are numbers.
        package var types: [FieldType]?
        /// The unit of all samples; `nil` if it changes.
        package var unit: String?
        /// The unit at the beginning and each change of it; `nil` if it does not change.
        package var units: [SessionRecord.Log.UnitChange]?
        package var samples: Int
        /// How many of the samples were filled in after the session; `nil` if none were.
        package var filled: Int?
        /// Samples that were lost, as far as their number is known.
        package var lost: Int
        package var gaps: [Gap]
        package var nominalRate: Double?
        package var actualRate: Double?
        /// Bytes of all files, including removed ones.
        package var bytes: Int
        package var format: LogFormat?
        /// Whether the data were measured, replayed or simulated; `nil` if no publisher reported it.
        package var origin: DataOrigin?
        /// The files in order, the one being written last, without removed ones.
        package var files: [String]
        /// The files that were removed after they were finished; `nil` if none was.
        package var removed: [RemovedFile]?
    }

    package var table: String {
        let title = [session, task, status.rawValue].compactMap { $0 }.joined(separator: ", ")
        let end = endDate.map { " to \($0.utcText)" } ?? ""
        var lines = [
            title, "\(startDate.utcText)\(end), \(TextColumns.decimal(duration, places: 3)) s", "",
        ]
        lines += TextColumns.aligned(
            [["stream", "samples", "lost", "gaps", "rate/s", "bytes", "files"]]
                + streams.map { stream in
                    [
                        stream.stream.description, "\(stream.samples)", "\(stream.lost)", "\(stream.gaps.count)",
                        TextColumns.rate(stream.actualRate, of: stream.nominalRate), "\(stream.bytes)",
                        stream.files.joined(separator: " "),
                    ]
                },
            textColumns: [0, 6])
        if !steps.isEmpty || !pauses.isEmpty || choices != nil { lines.append("") }
        lines += steps.map { "step at \(TextColumns.decimal($0.timestamp, places: 3)) s: \($0.step)" }
        lines += pauses.map { pause in
            let end = pause.to.map { "\(TextColumns.decimal($0, places: 3)) s" } ?? "the end"
            let stream = pause.stream.map { "\($0) " } ?? ""
            return "\(stream)paused from \(TextColumns.decimal(pause.from, places: 3)) s to \(end)"
        }
        lines += (choices ?? []).map { choice in
            "\(choice.stream) recorded from \(choice.fromStep.map { "step \($0)" } ?? "the start") "
                + "to \(choice.toStep.map { "the end of step \($0)" } ?? "the end")"
        }
        lines += (annotations ?? []).map { $0.sentence(since: startDate) }
        lines += streams.compactMap { stream in stream.origin.map { "\(stream.stream) is \($0)" } }
        for stream in streams {
            guard let units = stream.units else { continue }
            let changes = units.map { "\($0.text) from epoch \($0.epoch) on" }
            lines.append("the unit of \(stream.stream) changes: \(changes.joined(separator: ", "))")
        }
        for stream in streams {
            guard let types = stream.types else { continue }
            let fields = zip(stream.fields, types).map { "\($0) \($1.rawValue)" }
            lines.append("fields of \(stream.stream): \(fields.joined(separator: ", "))")
        }
        for stream in streams {
            let removed = stream.removed ?? []
            guard let summary = RemovedFile.summary(removed) else { continue }
            lines.append("\(stream.stream): \(summary): \(removed.map(\.name).joined(separator: " "))")
        }
        lines += (fills ?? []).map(\.sentence)
        lines += streams.compactMap { stream in
            stream.filled.map { "\(stream.stream): \($0) of its samples were filled in" }
        }
        for stream in streams { lines += stream.gaps.map { "gap in \(stream.stream): \($0.sentence)" } }
        lines += restarts.map { "interrupted; resumed at \($0.utcText)" }
        lines += failures.map { "failure: \($0)" }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension SessionDirectory {
    /// A summary of the directory from its documents; no log is read.
    package func summary() throws(RecordingError) -> SessionSummary {
        let record = try record()
        let lines = record.status.isOver ? [] : (try? JournalEntry.read(in: directory)) ?? []
        let end = record.endDate ?? lastDate(of: record) ?? record.startDate
        let report = SessionReport(record)
        let removed = try removedFiles()
        let annotations = try validAnnotations(of: record)
        return SessionSummary(
            session: record.session.text, task: record.task.isEmpty ? nil : record.task, status: record.status,
            startDate: record.startDate, endDate: record.endDate,
            duration: end.seconds(since: record.startDate),
            format: record.format, steps: record.steps, pauses: record.pauses,
            choices: record.choices, restarts: record.restarts,
            failures: record.failures,
            streams: zip(record.logs, report.streams).map { log, stream in
                let latest = lines.filter { $0.log == log.name && $0.kind == .commit }.max { $0.index < $1.index }
                let openBytes = log.file.map { size(of: $0) } ?? 0
                let gone = log.files.compactMap { removed[$0.name] }
                return SessionSummary.Stream(
                    stream: stream.stream, log: log.name, fields: log.fields, types: log.types,
                    unit: log.onlyUnit, units: log.unitChanges,
                    samples: max(log.counts.written, latest?.counts.written ?? 0) + log.filledSamples,
                    filled: stream.filled, lost: stream.lost, gaps: log.gaps,
                    nominalRate: stream.nominalRate, actualRate: stream.actualRate, bytes: stream.bytes + openBytes,
                    format: log.format, origin: log.origin, files: stream.files.filter { removed[$0] == nil },
                    removed: gone.isEmpty ? nil : gone)
            }, annotations: annotations.isEmpty ? nil : annotations, fills: report.fills)
    }

    /// When a session that is not over was last written to: according to a journal, or else to the files' own dates.
    func lastDate(of record: SessionRecord) -> WallTime? {
        let lines = (try? JournalEntry.read(in: directory)) ?? []
        if let last = lines.map(\.date).max() { return last }
        let names = record.logs.flatMap { $0.files.map(\.name) } + record.logs.compactMap(\.file)
        let times = names.compactMap { name in
            (try? directory.path.appending(name).stat(followTargetSymlink: false))?.st_mtim
        }
        return times.map { time in
            WallTime(nanosecondsSince1970: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
        }.max()
    }

    /// The length of a file; 0 if it does not exist.
    package func size(of name: String) -> Int {
        Int((try? directory.path.appending(name).stat(followTargetSymlink: false).size) ?? 0)
    }
}
