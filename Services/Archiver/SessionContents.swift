import Messages
import Recording
import SystemPackage

/// What a finished session has in its directory, as far as an archive must know before it reads all of it.
struct SessionContents {
    /// What the beginning of a log's file says.
    struct LogFile: Hashable {
        var log: LogName
        var file: FinishedFile
        /// When it was begun.
        var date: WallTime?
        var stepPath: String?
        /// The first sample in it.
        var start: Position?
        /// The runs of samples that are missing in it.
        var gaps = 0
    }

    /// A place in a stream.
    struct Position: Hashable, Comparable {
        /// The number of the epoch, in the order in which they were met.
        var epoch: Int
        var sequence: Int

        static func < (one: Position, other: Position) -> Bool {
            (one.epoch, one.sequence) < (other.epoch, other.sequence)
        }
    }

    var record: SessionRecord
    /// The names of the files that belong to it: the logs' files behind the others, in the order of their finishing.
    var names: [String]
    /// The names of what else is there and not hidden: directories, links.
    var others: [String] = []
    /// The log files that are there, by name.
    var logFiles: [String: LogFile] = [:]
    /// What `SHA256SUMS` and `session.json` say the files are.
    var checksums: [String: String] = [:]
    /// Files that were removed on purpose, and those that are missing without a word.
    var removed: [String] = []
    var missing: [String] = []
}

extension SessionContents {
    /// Looks at a session's directory.
    ///
    /// - Throws: `notFound`; `notOver` while it is recorded or finished; `changed` where its record can't be read.
    init(_ directory: SessionDirectory) throws(ArchiveError) {
        do throws(RecordingError) {
            record = try directory.record()
            let all = try directory.directory.names().filter { !$0.hasPrefix(".") }.sorted { one, other in
                one.utf8.lexicographicallyPrecedes(other.utf8)
            }
            names = all.filter { directory.isFile($0) }
            // Missing where a session failed before its end; with any other the recorder is still at it.
            let sums = try directory.checksums()
            guard record.status.isOver, sums != nil || record.status == .failed else {
                throw RecordingError(
                    .alreadyRunning, action: "archive session \(record.session)",
                    reason: record.status.isOver ? "it is being finished" : "it is \(record.status)",
                    advice: "Stop it first; a recorder that is started again finishes what was cut off.")
            }
            let isThere = Set(names)
            others = all.filter { !isThere.contains($0) }
            checksums = sums ?? [:]
            let gone = Set(try RemovedFile.read(in: directory.directory).map(\.name))
            for log in record.logs {
                for file in log.files {
                    checksums[file.name] = checksums[file.name] ?? file.sha256
                    if isThere.contains(file.name) { continue }
                    if gone.contains(file.name) { removed.append(file.name) } else { missing.append(file.name) }
                }
                addFiles(of: log, in: directory, isThere)
            }
            // A log's files in the order in which they were finished, and last what tells of those that are gone.
            let logged = record.logs.flatMap(\.files).map(\.name).filter { logFiles[$0] != nil }
            let last = names.filter { $0 == RemovedFile.fileName }
            names = names.filter { logFiles[$0] == nil && $0 != RemovedFile.fileName } + logged + last
        } catch {
            if error.code == .alreadyRunning { throw ArchiveError(.notOver, error.description) }
            throw ArchiveError(error)
        }
    }

    private mutating func addFiles(of log: SessionRecord.Log, in directory: SessionDirectory, _ isThere: Set<String>) {
        let epochs = Dictionary(log.epochs.enumerated().map { ($1.epoch, $0) }) { first, _ in first }
        var files: [LogFile] = []
        for file in log.files where isThere.contains(file.name) {
            var entry = LogFile(log: log.name, file: file)
            let path = directory.directory.path.appending(file.name)
            // A file that can't be read is noticed when it is its turn.
            if var scanner = try? LogScanner(path, format: record.format(of: log), root: record.root),
                (try? scanner.next()) != nil
            {
                let first = scanner.record
                entry.date = first.date
                entry.stepPath = first.stepPath.isEmpty ? nil : first.stepPath
                entry.start = first.position.map { Position(epoch: epochs[$0.epoch] ?? 0, sequence: $0.from) }
            }
            files.append(entry)
        }
        for gap in log.gaps {
            let place = Position(epoch: epochs[gap.epoch] ?? 0, sequence: gap.from)
            let index = files.lastIndex { $0.start.map { $0 <= place } ?? false } ?? 0
            if files.indices.contains(index) { files[index].gaps += 1 }
        }
        for file in files { logFiles[file.file.name] = file }
    }
}
