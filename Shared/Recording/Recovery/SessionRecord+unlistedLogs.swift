import Files
import Messages
import SystemPackage

extension SessionRecord {
    /// Logs with files in a session's directory that neither `session.json` nor the write-ahead log mentions: the disk refused
    /// the part of the write-ahead log with which they began, or that part can't be read.
    ///
    /// Only their own markers and first sample describe them.
    /// - Returns: these logs, and the files that a recorder began and that have no sample.
    func unlistedLogs(in directory: Directory) throws(RecordingError) -> (logs: [Log], empty: [String]) {
        var unlisted: (logs: [Log], empty: [String]) = ([], [])
        for (name, files) in Self.files(among: try directory.names(), without: Set(logs.map(\.name))) {
            switch try look(at: files, of: name, in: directory) {
            case .log(let log): unlisted.logs.append(log)
            case .empty: unlisted.empty += files.map(\.name)
            case .foreign: continue
            }
        }
        return unlisted
    }

    private enum Finding {
        case log(Log)
        case empty
        /// No recorder began the file.
        case foreign
    }

    private typealias File = (name: String, format: LogFormat, isFinished: Bool)

    /// The files that may belong to logs, in order, except those of known logs.
    private static func files(
        among names: [String], without known: Set<LogName>
    ) -> [(log: LogName, files: [File])] {
        var files: [LogName: [File]] = FinishedName.byLog(names).filter { !known.contains($0.key) }
            .mapValues { $0.map { ($0.description, $0.format, true) } }
        for name in names {
            for format in LogFormat.known {
                guard let log = LogName(ofFile: name, format), !known.contains(log) else { continue }
                files[log, default: []].append((name, format, false))
            }
        }
        return files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func look(
        at files: [File], of name: LogName, in directory: Directory
    ) throws(RecordingError) -> Finding {
        var opening: LogRecord?
        for file in files {
            // Opening a pipe would wait for its writer.
            let status = try? directory.path.appending(file.name).stat(followTargetSymlink: false)
            guard status?.type == .regular else { return .foreign }
            var scanner = try LogScanner(directory.path.appending(file.name), format: file.format, root: root)
            while let found = try scanner.next() {
                let record = scanner.record
                // The first record of a file describes its stream.
                if opening == nil { opening = record }
                guard found.isSample else { continue }
                guard let opening, let device = opening["device"], let (epoch, from) = opening.position,
                    let stream = record.sensorType
                else { return .foreign }
                // The publisher's uptime at the session's start.
                let uptime = scanner.uptime - (record["timestamp"].flatMap(Double.init) ?? .nan)
                let clock = ClockReading(uptime: uptime, date: startDate)
                guard clock.isPossible else { continue }
                var log = Log(
                    name: name, device: device, stream: stream, fields: ["uptime"] + scanner.ownColumns,
                    types: scanner.types.map { [.number] + $0 }, unit: opening["unit"],
                    rate: opening["rate"].flatMap(Double.init),
                    epochs: [Epoch(epoch: epoch, clock: clock, replay: "", from: from, next: from)],
                    file: files.first { !$0.isFinished }?.name, fileDate: opening.date)
                if file.format != format { log.format = file.format }
                return .log(log)
            }
        }
        return opening?["device"] != nil && opening?.position != nil ? .empty : .foreign
    }
}
