import Encryption
import Files
import Messages
import Recording
import SystemPackage

/// What a finished session has in its directory, as far as an archive must know before it reads all of it.
struct SessionContents {
    /// A file that belongs to it.
    struct File: Hashable {
        var name: String
        /// What `SHA256SUMS` or `session.json` says it is.
        var sha256: String?
        /// What is known of a log's file; `nil` for others.
        var log: LogFile?
    }

    /// What is known of a log's file.
    struct LogFile: Hashable {
        var log: LogName
        var samples: Int
        /// When it was begun.
        var date: WallTime?
        var stepPath: String?
        /// Of a stream of records: the fields that follow `sensorType` in a sample.
        var fields: [ArchiveMetadata.Field]?
        /// Whether the stream was measured, replayed or simulated, if that is known.
        var origin: DataOrigin?
        /// The runs of samples that are missing in it.
        var gaps = 0
        /// Whether its samples were filled in after the session.
        var isFilled = false
    }

    /// A place in a stream.
    private struct Position: Comparable {
        /// The number of the epoch, in the order in which they were met.
        var epoch: Int
        var sequence: Int

        static func < (one: Position, other: Position) -> Bool {
            (one.epoch, one.sequence) < (other.epoch, other.sequence)
        }
    }

    var record: SessionRecord
    /// The logs' files behind the others, in the order of their finishing.
    var files: [File] = []
    /// The names of what else is there and not hidden: directories, links.
    var others: [String] = []
    /// Files that were removed on purpose, and those that are missing without a word.
    var removed: [String] = []
    var missing: [String] = []
}

extension SessionContents {
    /// Looks at a session's directory.
    ///
    /// - Throws: `notFound`; `notOver` while it is recorded or finished; `changed` if its record can't be read.
    init(_ directory: SessionDirectory) throws(ArchiveError) {
        do throws(RecordingError) {
            record = try directory.record()
            let all = try directory.directory.names().filter { !$0.hasPrefix(".") }.sorted { one, other in
                one.utf8.lexicographicallyPrecedes(other.utf8)
            }
            let names = all.filter { directory.isFile($0) }
            // Missing where a session failed before its end; with any other the recorder is still at it.
            let sums = try directory.checksums()
            guard record.status.isOver, sums != nil || record.status == .failed else {
                throw RecordingError(
                    .alreadyRunning, action: "archive session \(record.session)",
                    reason: record.status.isOver ? "it is being finished" : "it is \(record.status)",
                    advice: "Stop it first. A recorder that restarts finishes interrupted sessions.")
            }
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
            // A log's files in the order in which they were finished, and last what tells of those that are gone.
            let tale = rest.remove(RemovedFile.fileName)
            files = names.filter(rest.contains).map { File(name: $0, sha256: sums?[$0]) } + logged
            // A kill may have come between the last annotations and their hash: the next annotation completes it, if one comes.
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

    /// The files of a log that are there.
    /// - Parameter rest: those of which nothing was said yet.
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
            // Of what is said twice one copy is kept, for there may be very many.
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

    /// A file with samples that were filled in.
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

    /// What a log's file begins with, and the fields of its samples, if they are records. One that can't be read is noticed
    /// when it is its turn.
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
