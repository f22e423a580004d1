package import Files
import Messages
package import Recording
package import StepDetection
package import SystemPackage

/// Exports a session: verifies it, reads its streams one after the other, and writes them in one format.
///
/// Memory use does not grow with the session. The same session, options and version give the same bytes.
package struct SessionExport {
    package enum Format: String, CaseIterable, Sendable {
        case csv, bids, mcap, xdf

        /// The default clock. Readers of XDF apply clock offsets themselves.
        package var usualClock: ExportClock { self == .xdf ? .recorder : .utc }
    }

    package struct Options: Sendable {
        package var format: Format
        package var clock: ExportClock
        /// Samples per second to resample to; nil to keep the recorded samples.
        package var rate: Double?
        /// Patterns of streams, as for recording; `nil` for all streams.
        package var streams: [String]?
        package var subject: String?
        package var run: Int?
        /// Names of the streams whose bouts of walking are exported too.
        package var countedStreams: [String] = []
        /// Where the devices of these streams were worn.
        package var placement = SensorPlacement.unknown
        package var replaces = false
        /// Whether to export the readable part of a damaged session.
        package var acceptsDamage = false

        package init(format: Format, clock: ExportClock = .utc) {
            self.format = format
            self.clock = clock
        }
    }

    package struct Outcome: Sendable {
        package var files: [String]
        package var samples: Int
        package var bytes: Int
        /// Whether samples are absent or damaged, or may be: a failure of the session does not say which streams it
        /// affects.
        package var hasLoss: Bool
    }

    /// The passes over the session's bytes, in order.
    package enum Step: String, Sendable {
        case checking, exporting
    }

    /// Called with the bytes read so far in a step, and the step's total.
    package typealias Progress = (_ step: Step, _ bytes: Int, _ total: Int) -> Void

    /// Bytes read between two checks whether to write.
    private static let step = 256 << 10
    /// How often a running session is verified if its files change in the meantime.
    private static let attempts = 3

    private let session: SessionDirectory
    private let record: SessionRecord
    private let options: Options
    private let version: String
    private let calls: FileCalls

    /// - Parameter version: the version of the program.
    package init(
        _ session: SessionDirectory, _ options: Options, version: String, calls: FileCalls = .system
    ) throws(RecordingError) {
        self.session = session
        record = try session.record()
        self.options = options
        self.version = version
        self.calls = calls
    }

    /// Exports to a directory.
    ///
    /// - Throws: `alreadyExists` if the export exists and must not be replaced; `unreadable` if the session is damaged and damage
    ///   is not accepted; `notFound` if it has none of the streams; `noSpace`. Nothing is left behind after an error.
    package func run(to path: FilePath, progress: @escaping Progress) throws(RecordingError) -> Outcome {
        let directory = try ExportDirectory(
            path, name: options.format == .bids ? "bids" : "\(session.session)-\(options.format.rawValue)",
            replaces: options.replaces, calls: calls)
        do throws(RecordingError) {
            let version = self.version
            let work = try prepare()
            // Only CSV has a table of bouts. Elsewhere, they are among the events, whose times are the recorder's.
            let keepsTimes = options.clock == .own && options.format == .csv
            let bouts =
                options.countedStreams.isEmpty
                ? []
                : try ExportedBout.bouts(
                    of: session, record, streams: options.countedStreams, placement: options.placement,
                    keepsTimes ? [:] : work.alignments)
            let exported = ExportedSession(
                record, annotations: try session.validAnnotations(of: record), bouts: bouts, clock: options.clock)
            switch options.format {
            case .csv: return try run(work, CSVExport(exported, in: directory), in: directory, progress)
            case .bids:
                let names = MotionNames(
                    subject: options.subject ?? "01", task: record.task, run: options.run,
                    streams: record.logs.map { StreamName(device: $0.device, stream: $0.stream) })
                let writer = BIDSExport(exported, names: names, version: version, in: directory) { time, stream in
                    self.time(of: time, in: stream.name, work)
                }
                return try run(work, writer, in: directory, progress)
            case .mcap:
                let streams = try work.logs.map { log throws(RecordingError) in
                    let reader = try open(log, work)
                    return ExportedStream(reader.log)
                }
                let writer = try MCAPExport(
                    exported, streams, library: "holdfast \(version)", in: directory
                ) { stream throws(RecordingError) in try rotation(beside: stream, work) }
                return try run(work, writer, in: directory, progress)
            case .xdf:
                let writer = try XDFExport(exported, alignments: work.alignments, in: directory)
                return try run(work, writer, in: directory, progress)
            }
        } catch {
            guard error.code == .noSpace else { throw error }
            throw RecordingError(
                .noSpace, action: "export to", path: path, errno: error.errno,
                advice: "Nothing was left behind. Free some space, or choose another directory, and export again.")
        }
    }

    private struct Work {
        var logs: [SessionRecord.Log]
        /// The alignments of the publishers' clocks, by epoch.
        var alignments: [String: ClockAlignment] = [:]
        let files: StreamReader.Files
    }

    private func prepare() throws(RecordingError) -> Work {
        var work = Work(logs: try chosenLogs(), files: try StreamReader.Files(of: session))
        let epochs = record.logs.flatMap { log in
            log.epochs.enumerated().map { index, epoch in
                (epoch, former: log.epochs[..<index].last { $0.replay == epoch.replay })
            }
        }
        // Only some of the streams may show that the machine was restarted.
        for (epoch, former) in epochs
        where epoch.isReplayGuessed != true && work.alignments[epoch.epoch]?.points.isEmpty != true {
            work.alignments[epoch.epoch] = ClockAlignment(of: epoch, after: former, in: record)
        }
        // A guessed address may be that of another publisher.
        for (epoch, former) in epochs where epoch.isReplayGuessed == true && work.alignments[epoch.epoch] == nil {
            work.alignments[epoch.epoch] = ClockAlignment(of: epoch, after: former, in: record)
        }
        return work
    }

    private func run(
        _ work: Work, _ writer: some ExportWriter, in directory: ExportDirectory, _ progress: @escaping Progress
    ) throws(RecordingError) -> Outcome {
        try directory.check(writer.provenanceName)
        let verification = try verify(progress)
        let logs = work.logs
        let total = logs.reduce(0) { total, log in
            total + log.files.reduce(0) { $0 + $1.bytes } + (log.file.map(session.size(of:)) ?? 0)
                + (log.fills ?? []).reduce(0) { $0 + $1.bytes }
        }
        var done = 0
        var hasLoss = false
        var writer = writer
        var streams: [Provenance.Stream] = []
        for log in logs {
            var reader = try open(log, work)
            var stream = ExportedStream(reader.log)
            if let rate = options.rate { stream.rate = rate }
            try writer.begin(stream)
            var walk = StreamWalk(clock: options.clock, alignments: work.alignments)
            if let rate = options.rate {
                var resampler = Resampler(writer, stream, of: reader.log, rate: rate)
                while try walk.read(&reader, bytes: Self.step, into: &resampler) {
                    try resampler.sink.writeIfFull()
                    progress(.exporting, done + reader.bytesRead, total)
                }
                writer = resampler.sink
                walk.note(resampler)
            } else {
                while try walk.read(&reader, bytes: Self.step, into: &writer) {
                    try writer.writeIfFull()
                    progress(.exporting, done + reader.bytesRead, total)
                }
            }
            done += reader.bytesRead
            hasLoss = hasLoss || walk.breaks.contains(where: \.isLoss) || !walk.damage.isEmpty
            try writer.end(stream, walk)
            streams.append(description(of: stream, walk, files: writer.files(of: stream)))
        }
        try writer.finish()

        let provenance = Provenance(
            version: version, session: session.session.text, task: record.task.isEmpty ? nil : record.task,
            status: record.status.rawValue, startDate: record.startDate, endDate: record.endDate,
            options: Provenance.Options(
                format: options.format.rawValue, clock: options.clock.rawValue, rate: options.rate,
                streams: options.streams, subject: options.subject, run: options.run,
                allowDamaged: options.acceptsDamage ? true : nil,
                countSteps: options.countedStreams.isEmpty ? nil : options.countedStreams,
                placement: options.countedStreams.isEmpty ? nil : options.placement.rawValue),
            verdict: "\(verification.verdict)", findings: verification.findings.map(\.description),
            clocks: Provenance.Clock.clocks(of: record, streams: logs, work.alignments), streams: streams,
            fills: SessionReport(record).fills,
            inputs: verification.hashes.sorted { $0.key < $1.key }.map { Provenance.Input(name: $0, sha256: $1) },
            outputs: directory.written)
        try directory.write(writer.provenanceName, StoredJSON.document(provenance))
        let written = directory.written
        try directory.publish()
        return Outcome(
            files: written.map(\.name), samples: streams.reduce(0) { $0 + $1.samples },
            bytes: written.reduce(0) { $0 + $1.bytes },
            hasLoss: verification.verdict == .damaged || hasLoss || !record.failures.isEmpty
                || logs.contains { !$0.gaps.isEmpty })
    }

    // MARK: Parts

    /// A time on the recorder's clock, as the export has it for the samples of a stream.
    private func time(of time: Int64, in stream: StreamName, _ work: Work) -> Int64 {
        let log = work.logs.first { StreamName(device: $0.device, stream: $0.stream) == stream }
        guard options.clock == .own, var alignment = log?.alignment(at: time, record, work.alignments) else {
            return time
        }
        return alignment.publisherTime(of: time)
    }

    private func chosenLogs() throws(RecordingError) -> [SessionRecord.Log] {
        let patterns = options.streams.map { Set($0) }
        let logs = record.logs.filter { log in
            patterns.map { StreamName(device: log.device, stream: log.stream).matches(anyOf: $0) } ?? true
        }
        guard logs.isEmpty else { return logs }
        let names = record.logs.map { "\($0.device)/\($0.stream)" }.joined(separator: ", ")
        throw RecordingError(
            .notFound, action: "export", path: session.directory.path,
            reason: names.isEmpty ? "the session has no streams" : "the session has none of these streams",
            advice: names.isEmpty ? "Export another session." : "It has \(names).")
    }

    /// The gyroscope of the stream's device; nil if there is none.
    private func rotation(
        beside stream: ExportedStream, _ work: Work
    ) throws(RecordingError) -> RotationSource? {
        let log = record.logs.first {
            $0.device == stream.name.device && $0.onlyUnit.flatMap { RotationUnit($0) } != nil
                && ExportedStream($0).axes != nil
        }
        guard let log else { return nil }
        let reader = try open(log, work)
        let gyroscope = ExportedStream(reader.log)
        return RotationSource(gyroscope, reader, StreamWalk(clock: options.clock, alignments: work.alignments))
    }

    private func open(_ log: SessionRecord.Log, _ work: Work) throws(RecordingError) -> StreamReader {
        try StreamReader(log, of: record, in: session, files: work.files, acceptsDamage: options.acceptsDamage)
    }

    private func verify(_ progress: @escaping Progress) throws(RecordingError) -> SessionVerification {
        var verification = session.verify { progress(.checking, $0, $1) }
        var attempt = 1
        // Files of a running session may be finished while it is verified.
        while verification.verdict == .damaged, !record.status.isOver, attempt < Self.attempts {
            verification = session.verify { progress(.checking, $0, $1) }
            attempt += 1
        }
        guard verification.verdict == .damaged, !options.acceptsDamage else { return verification }
        let first = verification.findings.first { $0.verdict == .damaged }
        throw RecordingError(
            .unreadable, action: "export", path: session.directory.path,
            reason: "it does not verify: \(first?.description ?? "")",
            advice: "Run `recorder verify` for details. Pass --allow-damaged to export what can be read.")
    }

    private func description(of stream: ExportedStream, _ walk: StreamWalk, files: [String]) -> Provenance.Stream {
        func date(_ time: Int64?) -> WallTime? {
            time.map { WallTime(nanosecondsSince1970: record.startDate.nanosecondsSince1970 &+ $0) }
        }
        func seconds(_ time: Int64?) -> Double? { time.map { Double($0) / 1e9 } }
        let kinds = stream.columns.map(\.kind.rawValue)
        return Provenance.Stream(
            stream: stream.name.description, files: files, columns: stream.columns.map(\.name),
            types: kinds.contains { $0 != "number" } ? kinds : nil, unit: stream.unit, units: stream.units,
            rate: stream.rate, origin: stream.origin, samples: walk.samples, start: date(walk.first),
            end: date(walk.last),
            absent: walk.breaks.map {
                Provenance.Absence(
                    reason: $0.reason, epoch: $0.epoch, from: $0.from, count: $0.count, after: seconds($0.after),
                    before: seconds($0.before), date: $0.date)
            },
            filled: walk.filled.isEmpty
                ? nil
                : walk.filled.map {
                    Provenance.Filled(
                        epoch: $0.epoch, from: $0.from, samples: $0.samples, first: seconds($0.first),
                        last: seconds($0.last))
                })
    }
}
