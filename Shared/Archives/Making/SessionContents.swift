import Encryption
import Files
import Messages
import Recording
import SystemPackage

/// The content of a finished session's directory, as needed before its files are read.
struct SessionContents {
    struct File: Hashable {
        var name: String
        /// The expected hash from `SHA256SUMS` or `session.json`.
        var sha256: String?
        /// The details of a stream file; `nil` for other files.
        var log: LogFile?
    }

    /// The details of a stream file.
    struct LogFile: Hashable {
        var log: LogName
        var samples: Int
        /// When the file was started.
        var date: WallTime?
        var stepPath: String?
        /// For a stream of records, the fields that follow `sensorType` in a sample.
        var fields: [ArchiveMetadata.Field]?
        /// Whether the stream was measured, replayed or simulated, if known.
        var origin: DataOrigin?
        /// The number of gaps in the file.
        var gaps = 0
        /// Whether the samples were filled in after the session.
        var isFilled = false
    }

    private struct Position: Comparable {
        /// The index of the epoch, in order of appearance.
        var epoch: Int
        var sequence: Int

        static func < (one: Position, other: Position) -> Bool {
            (one.epoch, one.sequence) < (other.epoch, other.sequence)
        }
    }

    var record: SessionRecord
    /// Other files first, then the stream files in the order in which they were finished.
    var files: [File] = []
    /// The names of visible entries that are not regular files, such as directories and links.
    var others: [String] = []
    /// `removed`: files that were removed intentionally. `missing`: files that are absent without a note.
    var removed: [String] = []
    var missing: [String] = []
    /// Whether the session failed before its end, and the recorder has not finished its files.
    var isUnfinished = false
}

extension SessionContents {
    /// Reads a session's directory.
    ///
    /// - Throws: `notFound`; `notOver` while the session is being recorded or finished; `changed` if its record cannot be read.
    init(_ directory: SessionDirectory) throws(ArchiveError) {
        do throws(RecordingError) {
            record = try directory.record()
            // Read before the names: a first annotation may be added meanwhile, and must not seem to be missing.
            let sums = try directory.checksums()
            let all = try directory.directory.names().filter { !Directory.isHidden($0) }.sorted { one, other in
                one.utf8.lexicographicallyPrecedes(other.utf8)
            }
            let names = all.filter { directory.isFile($0) }
            // The checksums may be missing if the session failed before its end. For other sessions, that means the recorder is
            // not finished.
            guard record.status.isOver, sums != nil || record.status == .failed else {
                throw RecordingError(
                    .alreadyRunning, action: "archive session \(record.session)",
                    reason: record.status.isOver ? "it is being finished" : "it is \(record.status)",
                    advice: "Stop it first. A recorder that restarts finishes interrupted sessions.")
            }
            isUnfinished = sums == nil
            let present = Set(names)
            others = all.filter { !present.contains($0) }
            let gone = Set(try RemovedFile.read(in: directory.directory).map(\.name))
            var rest = present
            var logged: [File] = []
            for log in record.logs {
                for file in log.files where !present.contains(file.name) {
                    if gone.contains(file.name) { removed.append(file.name) } else { missing.append(file.name) }
                }
                logged += files(of: log, in: directory, from: &rest, sums ?? [:])
                for file in log.fills ?? [] {
                    if rest.remove(file.name) == nil {
                        missing.append(file.name)
                    } else {
                        logged.append(filled(file, of: log, in: directory))
                    }
                }
            }
            let noted = Set(removed + missing + others)
            let absent = (sums ?? [:]).keys.filter { !present.contains($0) && !noted.contains($0) }
            for name in absent.sorted() {
                if gone.contains(name) { removed.append(name) } else { missing.append(name) }
            }
            // The list of removed files comes last.
            let tale = rest.remove(RemovedFile.fileName)
            files = names.filter(rest.contains).map { File(name: $0, sha256: sums?[$0]) } + logged
            // A kill may have come between the last annotation and its hash. The next annotation would update the hash.
            if let index = files.firstIndex(where: { $0.name == SessionDirectory.annotationsName }),
                directory.annotationsContinue(files[index].sha256)
            {
                files[index].sha256 = nil
            }
            if let tale { files.append(File(name: tale, sha256: sums?[tale])) }
        } catch {
            if error.code == .alreadyRunning { throw ArchiveError(.notOver, error.description) }
            throw ArchiveError(error)
        }
    }

    /// The existing files of a log.
    /// - Parameter rest: the files that are not assigned yet.
    private func files(
        of log: SessionRecord.Log, in directory: SessionDirectory, from rest: inout Set<String>,
        _ sums: [String: String]
    ) -> [File] {
        let epochs = Dictionary(log.epochs.enumerated().map { ($1.epoch, $0) }) { first, _ in first }
        var files: [File] = []
        var starts: [Position?] = []
        for file in log.files where rest.remove(file.name) != nil {
            let (first, fields) = beginning(of: directory.directory.path.appending(file.name), log)
            let entry = LogFile(
                log: log.name, samples: file.samples, date: first?.date,
                stepPath: first.flatMap { $0.stepPath.isEmpty ? nil : $0.stepPath }, fields: fields,
                origin: log.origin)
            let start = first?.position.map { Position(epoch: epochs[$0.epoch] ?? 0, sequence: $0.from) }
            // Equal strings share one copy, because there may be very many.
            let sum = sums[file.name]
            files.append(
                File(name: file.name, sha256: sum == file.sha256 ? file.sha256 : sum ?? file.sha256, log: entry))
            starts.append(start)
        }
        for gap in log.gaps {
            let place = Position(epoch: epochs[gap.epoch] ?? 0, sequence: gap.from)
            let index = starts.lastIndex { $0.map { $0 <= place } ?? false } ?? 0
            if files.indices.contains(index) { files[index].log?.gaps += 1 }
        }
        return files
    }

    /// A file with filled-in samples.
    private func filled(
        _ file: SessionRecord.FilledFile, of log: SessionRecord.Log, in directory: SessionDirectory
    ) -> File {
        let (first, fields) = beginning(of: directory.directory.path.appending(file.name), log)
        return File(
            name: file.name, sha256: file.sha256,
            log: LogFile(
                log: log.name, samples: file.samples, date: first?.date,
                stepPath: first.flatMap { $0.stepPath.isEmpty ? nil : $0.stepPath }, fields: fields,
                origin: log.origin, isFilled: true))
    }

    /// The first record of a stream file, and the fields of its samples if they are records. A file that cannot be read causes an
    /// error only when it is added.
    private func beginning(
        of path: FilePath, _ log: SessionRecord.Log
    ) -> (first: LogRecord?, fields: [ArchiveMetadata.Field]?) {
        guard var scanner = try? LogScanner(path, format: record.format(of: log), root: record.root),
            (try? scanner.next()) != nil
        else { return (nil, nil) }
        let first = scanner.record
        guard let types = scanner.types else { return (first, nil) }
        while let next = try? scanner.next() {
            if next.isSample {
                return (
                    first, zip(scanner.ownColumns, types).map { ArchiveMetadata.Field(name: $0, type: $1.rawValue) }
                )
            }
        }
        return (first, nil)
    }
}
