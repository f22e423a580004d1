package import Files
import Messages
import SystemPackage

/// Reads a stream's samples and markers in the order in which they were recorded, across its files, one record at a time.
///
/// Samples that were filled in after the session replace their gap, which then has no marker; the rest of a partly filled gap is
/// a marker.
///
/// Also reads a running session: up to the last whole record in the file being written, even if that file is renamed meanwhile.
/// Not Sendable.
package struct StreamReader: ~Copyable {
    package enum Item {
        /// Call `withSample` to get it.
        case sample
        // Rare and large: indirect, so that each sample stays small.
        indirect case marker(LogRecord, Discontinuity?)
        /// A file that no longer exists.
        indirect case absent(FinishedFile, RemovedFile?)
    }

    /// How the samples after a marker fail to continue those before it, except by a gap, which has its own marker.
    package enum Discontinuity: Hashable, Sendable {
        /// Samples were left out, as in a pause.
        case skipped(from: Int, count: Int)
        /// The publisher restarted.
        case newEpoch
    }

    /// A session's existing and removed files: looked up once for all streams of a session that is over.
    package struct Files: Sendable {
        fileprivate let found: [LogName: [FinishedName]]
        fileprivate let removed: [String: RemovedFile]

        package init(of session: SessionDirectory) throws(RecordingError) {
            found = FinishedName.byLog(try session.directory.names())
            removed = try session.removedFiles()
        }
    }

    private enum Source {
        case finished(String)
        case current(OpenFile)
        case absent(FinishedFile, RemovedFile?)
    }

    /// The stream, with the columns of all its files: those that `session.json` names, then those that only other files have.
    package let log: SessionRecord.Log
    package let format: LogFormat
    /// The epoch of the samples; `nil` before the first marker that states it.
    package private(set) var epoch: String?
    /// Counts possible changes of `epoch`.
    package private(set) var epochChanges = 0
    /// The number, in its epoch, of the last sample that `next` returned. If a device's own recording filled more samples into a
    /// gap than it was estimated to have, the surplus ones get the gap's last number.
    package private(set) var sequence = -1
    /// Whether the last sample that `next` returned was filled in after the session.
    package private(set) var isFilled = false
    /// Bytes of the files that were read so far.
    package private(set) var bytesRead = 0
    /// Descriptions of what can't be read: the rest of a file, if the session is damaged.
    package private(set) var damage: [String] = []

    private var cells: SampleCells
    private let directory: Directory
    private let root: JSONRoot
    /// Whether the session is running: the file being written may end in the middle of a record.
    private let isRunning: Bool
    private let acceptsDamage: Bool
    private var sources: ArraySlice<Source>
    private var scanner: LogScanner?
    /// The file being read, if it is finished.
    private var name: String?
    private var endOfLast = 0
    /// The next sample of each epoch except the current one.
    private var places: [String: Int] = [:]
    private let filled: FilledStream?
    /// The filled gap that is being read.
    private var filling: Filling?

    /// The reader's place in a filled gap.
    private struct Filling {
        /// The gap's marker.
        let marker: LogRecord
        var parts: ArraySlice<FilledStream.Part>
        /// The reader of the current part, and how many of its samples are left.
        var reader: FillReader?
        var samples = 0
        /// The last number of the part.
        var last = 0
        /// The epoch and number at which the stream's own file continues after the gap.
        let epoch: String?
        let sequence: Int
    }

    /// - Parameters:
    ///   - log: one of the record's.
    ///   - files: the session's, if they were already looked up.
    ///   - acceptsDamage: whether to note unreadable parts in `damage` and read on after them.
    package init(
        _ log: SessionRecord.Log, of record: SessionRecord, in session: SessionDirectory, files: Files? = nil,
        acceptsDamage: Bool = false
    ) throws(RecordingError) {
        let format = record.format(of: log)
        let isRunning = !record.status.isOver
        // Everything that can fail comes first: otherwise Swift 6.3, in release builds, frees properties that are not initialized
        // yet.
        let sources = try Self.sources(of: log, format, isRunning: isRunning, in: session, files)
        let columns = Self.columns(of: log, format, record.root, sources, in: session.directory)
        self.log = columns.log
        self.format = format
        self.isRunning = isRunning
        self.acceptsDamage = acceptsDamage
        self.sources = sources[...]
        filled = FilledStream(log, of: record, in: session.directory, columns: columns.names)
        root = record.root
        directory = session.directory
        cells = SampleCells(fields: columns.names)
    }

    /// The columns of all files. What can't be read of a file is noticed when it is its turn.
    private static func columns(
        of log: SessionRecord.Log, _ format: LogFormat, _ root: JSONRoot, _ sources: [Source], in directory: Directory
    ) -> StreamColumns {
        var columns = StreamColumns(log, format)
        for source in sources {
            var opened: OpenFile?
            switch source {
            case .finished(let name): opened = try? OpenFile(directory.path.appending(name), .readOnly, action: "read")
            case .current(let file): opened = file
            case .absent: continue
            }
            guard let file = opened, var scanner = try? LogScanner(file, format: format, root: root, pieceSize: 4 << 10)
            else { continue }
            while let record = try? scanner.next() {
                guard record.isSample else { continue }
                columns.add(scanner.ownColumns, scanner.types)
                break
            }
        }
        return columns
    }

    private static func sources(
        of log: SessionRecord.Log, _ format: LogFormat, isRunning: Bool, in session: SessionDirectory, _ files: Files?
    ) throws(RecordingError) -> [Source] {
        let directory = session.directory
        // The file being written is opened first: it may be finished, and listed, before the names are read.
        var current: OpenFile?
        let currentName = log.file ?? (isRunning ? log.name.fileName(format) : nil)
        if let currentName, directory.contains(currentName) {
            current = try OpenFile(directory.path.appending(currentName), .readOnly, action: "read")
        }
        // The files of a running session change meanwhile.
        let files = if let files, !isRunning { files } else { try Files(of: session) }
        let listed = Dictionary(log.files.map { ($0.name, $0) }) { first, _ in first }
        let found = files.found[log.name] ?? []
        let names = Set(found + log.files.compactMap { FinishedName($0.name, of: log.name) }).sorted()
        let present = Set(found)
        var sources: [Source] = []
        for name in names {
            if present.contains(name) {
                sources.append(.finished(name.description))
                if let file = current, file.isFile(at: directory.path.appending(name.description)) { current = nil }
            } else if let file = listed[name.description] {
                sources.append(.absent(file, files.removed[file.name]))
            }
        }
        if let current { sources.append(.current(current)) }
        return sources
    }

    /// The next sample, marker or missing file; `nil` at the end.
    /// - Throws: `unreadable` if a finished file is not as it was written, unless damage is accepted.
    package mutating func next() throws(RecordingError) -> Item? {
        while true {
            if filling != nil, let item = try nextFilled() { return item }
            if scanner == nil {
                if let item = try open() { return item }
                if scanner == nil { return nil }
            }
            if let record = try scanner?.next() {
                let end = scanner?.end ?? 0
                bytesRead += end - endOfLast
                endOfLast = end
                if !record.isSample, let marker = scanner?.record {
                    let discontinuity = note(marker)
                    if let gap = marker.gap, let parts = filled?.parts(of: gap) {
                        filling = Filling(marker: marker, parts: parts[...], epoch: epoch, sequence: sequence)
                        continue
                    }
                    return .marker(marker, discontinuity)
                }
                sequence += 1
                let isFound = scanner?.find(&cells) ?? false
                if isFound { return .sample }
                if isRunning, name == nil {
                    // The file got its first sample, with new columns, after the stream's columns were determined.
                    sequence -= 1
                    scanner = nil
                    return nil
                }
                try note("a sample at byte \(end) has other fields than the stream")
                continue
            }
            if scanner?.isClean == false, !(isRunning && name == nil) {
                try note("it is not valid after \(scanner?.end ?? 0) bytes")
            }
            scanner = nil
        }
    }

    /// Lends the last sample that `next` returned.
    ///
    /// - Parameter body: gets the bytes of the sample's record, and the ranges of its timestamp and values in them.
    @inline(__always)
    package func withSample(
        _ body: (UnsafeRawBufferPointer, _ timestamp: Range<Int>, _ values: UnsafeBufferPointer<Range<Int>>) -> Void
    ) {
        if isFilled {
            filling?.reader?.withCells(body)
        } else {
            scanner?.withRecordBytes { bytes in
                cells.values.withUnsafeBufferPointer { body(bytes, cells.timestamp, $0) }
            }
        }
    }

    /// The uptime of the last sample that `next` returned, in seconds of the publisher's clock.
    package var uptime: Double {
        if isFilled { return filling?.reader?.uptime ?? .nan }
        return scanner?.readUptime() ?? .nan
    }

    // MARK: Filled samples

    /// The next item in a filled gap; nil at the gap's end.
    private mutating func nextFilled() throws(RecordingError) -> Item? {
        while var now = filling {
            if let reader = now.reader, now.samples > 0 {
                let start = reader.end
                guard try reader.next() else {
                    now.samples = 0
                    filling = now
                    try note("it has fewer samples, or other fields, than it was written with", of: reader.name)
                    continue
                }
                now.samples -= 1
                filling = now
                bytesRead += reader.end - start
                sequence = min(sequence + 1, now.last)
                isFilled = true
                return .sample
            }
            isFilled = false
            guard let part = now.parts.popFirst() else {
                filling = nil
                if epoch != now.epoch { epochChanges += 1 }
                (epoch, sequence) = (now.epoch, now.sequence)
                return nil
            }
            now.reader = nil
            filling = now
            switch part {
            case .gap(let gap):
                return .marker(now.marker.replacing(gap), nil)
            case .samples(let file, let from, let count, let samples, let gap):
                do throws(RecordingError) {
                    now.reader = try filled?.reader(file, from: from, of: gap.epoch)
                } catch {
                    try note("\(error)", of: filled?.name(file) ?? "")
                    // An unreadable part stays a gap.
                    let lost = Gap(epoch: gap.epoch, from: from, count: count, reason: gap.reason, date: gap.date)
                    return .marker(now.marker.replacing(lost), nil)
                }
                now.samples = samples
                now.last = max(from, from.addingClamped(count) - 1)
                if epoch != gap.epoch { epochChanges += 1 }
                (epoch, sequence) = (gap.epoch, from - 1)
                filling = now
            }
        }
        return nil
    }

    // MARK: Parts

    private mutating func open() throws(RecordingError) -> Item? {
        guard let source = sources.popFirst() else { return nil }
        endOfLast = 0
        cells.beginFile()
        switch source {
        case .finished(let name):
            self.name = name
            do throws(RecordingError) {
                scanner = try LogScanner(directory.path.appending(name), format: format, root: root)
            } catch {
                // log-manager may have just removed it.
                guard error.code == .notFound, let file = log.files.first(where: { $0.name == name }) else {
                    throw error
                }
                return try passOver(file, try RemovedFile.read(in: directory).last { $0.name == name })
            }
        case .current(let file):
            name = nil
            scanner = try LogScanner(file, format: format, root: root)
        case .absent(let file, let removed):
            return try passOver(file, removed)
        }
        return nil
    }

    private mutating func passOver(
        _ file: FinishedFile, _ removed: RemovedFile?
    ) throws(RecordingError) -> Item {
        if removed == nil {
            name = file.name
            try note("it is missing")
        }
        // The next file states which samples follow.
        epoch = nil
        epochChanges += 1
        return .absent(file, removed)
    }

    private mutating func note(_ text: String, of file: String? = nil) throws(RecordingError) {
        let name = file ?? name ?? log.name.fileName(format)
        guard acceptsDamage else {
            throw .changed(directory.path.appending(name), action: "read", text)
        }
        damage.append("\(name): \(text)")
    }

    /// Takes the position of the following samples from a marker.
    private mutating func note(_ marker: LogRecord) -> Discontinuity? {
        if let gap = marker.gap {
            let end = gap.from.addingClamped(gap.count)
            if gap.epoch == epoch {
                sequence = max(sequence, end - 1)
            } else {
                places[gap.epoch] = max(places[gap.epoch] ?? 0, end)
            }
            return nil
        }
        guard let (next, from) = marker.position else { return nil }
        let former = epoch
        let expected = next == former ? sequence + 1 : places[next] ?? 0
        if let former, former != next { places[former] = sequence + 1 }
        epoch = next
        epochChanges += 1
        sequence = from - 1
        if former == nil { return nil }
        if former != next { return .newEpoch }
        return from > expected ? .skipped(from: expected, count: from - expected) : nil
    }
}
