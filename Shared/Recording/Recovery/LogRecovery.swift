import Files
import Messages
import SystemPackage

/// Finds out how far one log came, from its files alone, and cuts off its torn end.
///
/// Listed files were synced before they were listed. Files that were finished and not listed, and the one being written, are read
/// once, from their beginnings: markers state the next sample, and each sample advances it by one. A session of 0.6 has jumps
/// without a marker, which are in its journal. Data after the last whole record was never durable, and is replayed.
///
/// Recovery may be interrupted anywhere and repeated: each step leaves files that lead to the same result.
struct LogRecovery {
    private(set) var log: SessionRecord.Log
    /// The next sample of each epoch; the last entry is the current epoch.
    private(set) var positions: [Marker.Position] = []

    private let record: SessionRecord
    private let directory: Directory
    private let format: LogFormat
    private let calls: FileCalls
    private let terminatorLength: Int
    /// Whether a file is synced before it gets its final name, as it has been since there is a write-ahead log.
    private let isSealedDurably: Bool
    /// Whether no journal has more than `session.json`.
    private let isWithoutJournal: Bool

    /// Known places: those of the journal, or the durable one of `session.json`.
    private let places: [JournalEntry]
    /// The known places that were not reached yet.
    private var rest: ArraySlice<JournalEntry>
    /// Where the files that were read begin, if they are contiguous.
    private var beginning: Marker.Position?
    private var gaps: [Gap] = []
    private var firstUptime: Double?
    private var lastUptime: Double?
    /// The word of the last record, if it is a marker.
    private var lastMarker: String?
    /// Whether the log's last record was read.
    private var isRead = false
    /// Whether all files of the log are read, except removed ones.
    private let isReadWhole: Bool

    /// - Parameter lines: the journal's valid lines about the log, in the order of their index.
    init(
        _ log: SessionRecord.Log, of record: SessionRecord, in directory: Directory, lines: [JournalEntry],
        calls: FileCalls
    ) {
        self.log = log
        self.record = record
        self.directory = directory
        self.calls = calls
        format = record.format(of: log)
        terminatorLength = LogFile.terminator(format, record.root).count
        isSealedDurably = record.logPosition != nil
        isWithoutJournal = isSealedDurably || lines.isEmpty
        isReadWhole = log.files.isEmpty
        if isSealedDurably, let durable = log.durable {
            places = [
                JournalEntry(
                    kind: .commit, index: 0, log: log.name, segment: durable.file, bytes: durable.bytes,
                    samples: durable.samples, epoch: durable.epoch, next: durable.next, counts: log.counts,
                    date: record.startDate)
            ]
        } else {
            places = lines
        }
        rest = places[...]
        if isWithoutJournal {
            // Without a journal, the stored positions are the best available.
            positions = log.epochs.map { Marker.Position(epoch: $0.epoch, next: $0.next) }
        }
    }

    /// Adopts finished files, repairs the current one, and puts the results into `log` and `positions`.
    ///
    /// - Parameters:
    ///   - names: the names in the directory.
    ///   - finished: the log's finished files, including removed ones, in order.
    ///   - removed: files that were removed from the session.
    /// - Returns: the log's file, ready to be continued.
    mutating func recover(
        names: Set<String>, finished: [FinishedName], removed: [String: RemovedFile]
    ) throws(RecordingError) -> StreamFile {
        var current = try adopt(finished, removed)
        let segment = log.files.count
        let name = log.name.fileName(format)
        if current == nil, names.contains(name) { current = try read(name, segment: segment, isFinished: false) }
        if let found = current, !found.hasRecords {
            // A file without records has no information. It is made again, with its beginning, where the log continues.
            try Directory.removeFile(directory.path.appending(name))
            if log.file != nil { log.file = name }
            current = nil
        }
        if let current {
            if format.isTable { takeFields(of: current.columns, current.types) }
            log.file = name
        }
        var isRemoved = false
        if !isRead, let last = log.files.last {
            rest = places[...]
            do {
                _ = try read(last.name, segment: segment - 1, isFinished: true)
            } catch {
                if error.code != .notFound { throw error }
                isRemoved = true
            }
        }
        reach(0, of: segment)
        // If a log was closed, its last file may have been removed since.
        let isStopped = lastMarker == Marker.Event.stop.name || (isRemoved && log.file == nil)
        if current == nil, isStopped { log.file = nil }
        log.isMarkedStopped = isStopped ? true : nil
        conclude(samplesInFile: current?.samples ?? 0)
        var place = log
        place.durable = current.map { current in
            DurablePlace(
                file: segment, bytes: current.end + terminatorLength, samples: current.samples,
                epoch: positions.last?.epoch ?? "", next: positions.last?.next ?? 0)
        }
        let file = try StreamFile(resuming: place, of: record, in: directory, finished: [], calls: calls)
        try file.finishResuming()
        return file
    }

    // MARK: Files

    /// Takes over finished files that are not listed.
    ///
    /// - Returns: the file that was torn, which may happen in 0.6; it becomes the current one again.
    private mutating func adopt(
        _ finished: [FinishedName], _ removed: [String: RemovedFile]
    ) throws(RecordingError) -> Found? {
        let listed = Set(log.files.map(\.name))
        let unlisted = finished.filter { !listed.contains($0.description) }
        let lastRemoved = unlisted.lastIndex { removed[$0.description] != nil } ?? -1
        for (index, name) in unlisted.enumerated() {
            let segment = log.files.count
            // The journal's line about the place at which the next file begins.
            let end = places.last { $0.segment == segment + 1 && $0.bytes == 0 }
            if let file = removed[name.description] {
                let before = log.files.reduce(0) { $0 + $1.samples }
                let samples = max(0, (end?.counts.written ?? before) - before)
                log.files.append(
                    FinishedFile(name: file.name, bytes: file.bytes, samples: samples, sha256: file.sha256 ?? ""))
                (isRead, beginning, lastMarker) = (false, nil, nil)
                continue
            }
            let found = try read(name.description, segment: segment, isFinished: true)
            let path = directory.path.appending(name.description)
            // Each file is synced before the next one.
            let isDurable =
                isSealedDurably || index < lastRemoved || places.contains { $0.segment > segment && $0.kind == .commit }
            if isDurable || found.isClean && found.size >= end?.sealedBytes ?? 0 {
                try OpenFile(path, .readOnly, action: "open", calls: calls).syncAll()
                let (bytes, digest) = try FinishedFile.measure(path)
                log.files.append(
                    FinishedFile(name: name.description, bytes: bytes, samples: found.samples, sha256: digest))
                continue
            }
            // The last file goes first, so that the remaining ones are always contiguous from the beginning.
            for later in unlisted[(index + 1)...].reversed() {
                try Directory.removeFile(directory.path.appending(later.description))
            }
            try directory.rename(name.description, to: log.name.fileName(format), calls: calls)
            return found
        }
        return nil
    }

    private struct Found {
        /// The end of the last whole record.
        var end: Int
        var samples: Int
        var size: Int
        var isClean: Bool
        var hasRecords: Bool
        var columns: [String]
        /// The types of the samples' own columns; `nil` if all are numbers.
        var types: [FieldType]?
    }

    /// Reads a file from its beginning. If that ends before the file's durable place, continues behind that place: the file was
    /// whole up to there once, so an unreadable byte before it is damage, not a torn end.
    ///
    /// - Parameter isFinished: whether the file is finished, so that its last record is complete although nothing follows.
    private mutating func read(_ name: String, segment: Int, isFinished: Bool) throws(RecordingError) -> Found {
        let path = directory.path.appending(name)
        let size = Int(try OpenFile(path, .readOnly, action: "open").byteCount())
        reach(0, of: segment)
        var scanner = try LogScanner(path, format: format, root: record.root)
        var found = Found(
            end: scanner.end, samples: 0, size: size, isClean: false, hasRecords: false, columns: scanner.columns)
        try walk(&scanner, segment: segment, isFinished: isFinished, into: &found)
        if let durable = places.last(where: { $0.kind == .commit && $0.segment == segment }),
            found.end + terminatorLength < durable.bytes, durable.bytes <= size, scanner.openingEnd != nil
        {
            var behind = try LogScanner(
                path, format: format, root: record.root, from: durable.bytes - terminatorLength, types: scanner.types)
            if behind.isAtBoundary {
                found.end = behind.end
                found.samples = durable.samples
                found.hasRecords = true
                reach(durable.bytes, of: segment)
                try walk(&behind, segment: segment, isFinished: isFinished, into: &found)
            }
        }
        found.types = scanner.types
        return found
    }

    private mutating func walk(
        _ scanner: inout LogScanner, segment: Int, isFinished: Bool, into found: inout Found
    ) throws(RecordingError) {
        // An unproven record counts once something follows it: otherwise it may have been longer.
        var unproven: (marker: LogRecord, end: Int)?
        while let record = try scanner.next() {
            if let (marker, end) = unproven.take() { note(end, marker, of: segment, in: &found) }
            if !record.isProven {
                unproven = (scanner.record, scanner.end)
                continue
            }
            if record.isSample {
                found.samples += 1
                let uptime = scanner.uptime
                if uptime.isFinite {
                    lastUptime = uptime
                    if firstUptime == nil { firstUptime = uptime }
                }
                lastMarker = nil
                if !positions.isEmpty { positions[positions.count - 1].next += 1 }
            }
            note(scanner.end, record.isSample ? nil : scanner.record, of: segment, in: &found)
        }
        if isFinished, let (marker, end) = unproven { note(end, marker, of: segment, in: &found) }
        found.isClean = scanner.isClean
    }

    private mutating func note(_ end: Int, _ marker: LogRecord?, of segment: Int, in found: inout Found) {
        if let marker { take(marker) }
        found.end = end
        found.hasRecords = true
        isRead = true
        reach(end + terminatorLength, of: segment)
    }

    /// Notes the columns of the current file: they may have changed after or before they were stored.
    private mutating func takeFields(of columns: [String], _ types: [FieldType]?) {
        let formatter = RecordFormatter(format: format, sensorType: log.stream, fields: log.fields, types: log.types)
        let names = Array(columns.drop { $0 != "sensorType" }.dropFirst().prefix { $0 != "timestampDate" })
        if names != formatter.fields { log.fields = log.fields.prefix(1) + names }
        log.types = types.flatMap { $0.count == names.count ? [.number] + $0 : nil }
    }

    // MARK: Places

    private mutating func reach(_ bytes: Int, of segment: Int) {
        while let place = rest.first, place.isReached(at: bytes, of: segment) {
            rest.removeFirst()
            log.counts = place.counts
            setPosition(place.epoch, place.next)
            turn(to: place.epoch)
        }
    }

    private mutating func take(_ marker: LogRecord) {
        lastMarker = marker.marker
        if var gap = marker.gap {
            gap.afterUptime = lastUptime
            gaps.append(gap)
            // A gap of unknown length states how far its run came: samples that a pause left out before it are noted nowhere
            // else.
            setPosition(gap.epoch, gap.from.addingClamped(gap.count))
        } else if let (epoch, from) = marker.position {
            setPosition(epoch, from)
            turn(to: epoch)
            if beginning == nil { beginning = positions.last }
        }
    }

    private mutating func setPosition(_ epoch: String, _ next: Int) {
        if let index = positions.firstIndex(where: { $0.epoch == epoch }) {
            positions[index].next = next
        } else {
            positions.insert(Marker.Position(epoch: epoch, next: next), at: max(0, positions.count - 1))
        }
    }

    private mutating func turn(to epoch: String) {
        guard let index = positions.firstIndex(where: { $0.epoch == epoch }) else { return }
        positions.append(positions.remove(at: index))
    }

    // MARK: Conclusion

    private mutating func conclude(samplesInFile: Int) {
        let samples = log.files.reduce(samplesInFile) { $0 + $1.samples }
        let found = Set(gaps.map(\.extent))
        let isMissing =
            samples < log.counts.written || !log.gaps.allSatisfy { found.contains($0.extent) || isListed($0) }
        log.counts.written = samples
        log.lastUptime = log.counts.written == 0 ? nil : lastUptime ?? log.lastUptime
        log.firstUptime = log.counts.written == 0 ? nil : log.firstUptime ?? (isReadWhole ? firstUptime : nil)
        log.intervals?.breakOff()
        if isSealedDurably {
            // Stored positions of epochs after the current one, or of a log without files, are of data that only the write-ahead
            // log had.
            let current = log.epochs.firstIndex { $0.epoch == positions.last?.epoch } ?? log.epochs.endIndex
            let later = Set(log.epochs.dropFirst(current + 1).map(\.epoch))
            positions.removeAll { later.contains($0.epoch) }
            if !isRead, log.files.isEmpty { positions = [] }
        }
        for index in log.epochs.indices {
            let epoch = log.epochs[index]
            let known = positions.first { $0.epoch == epoch.epoch }?.next ?? epoch.from
            if isWithoutJournal, !isMissing, epoch.next > known {
                // The files have everything that was stored. Only the stored position includes samples that a pause left out.
                setPosition(epoch.epoch, epoch.next)
            } else {
                log.epochs[index].next = known
            }
        }
        if positions.isEmpty, let epoch = log.epochs.first {
            positions = [Marker.Position(epoch: epoch.epoch, next: epoch.next)]
        }
        log.gaps = log.gaps.filter { found.contains($0.extent) || isListed($0) }
        let known = Set(log.gaps.map(\.extent))
        log.gaps += gaps.filter { !known.contains($0.extent) }
        if record.leavesOut { countPaused() }
    }

    /// Whether a stored gap lies before the files that were read. Otherwise, its marker would be in them, or was torn off with
    /// everything after it.
    private func isListed(_ gap: Gap) -> Bool {
        guard let start = beginning ?? positions.last,
            let first = log.epochs.firstIndex(where: { $0.epoch == start.epoch }),
            let own = log.epochs.firstIndex(where: { $0.epoch == gap.epoch })
        else { return true }
        // A gap of unknown length does not change the position.
        return (own, gap.from) < (first, start.next) || (own, gap.from, gap.count) == (first, start.next, 0)
    }

    /// Each sample of an epoch was written, lost, or left out during a pause. The stored number left out was counted at another
    /// place than the one at which the log was cut, so it is calculated from the others.
    private mutating func countPaused() {
        var spans = log.epochs.reduce(0) { $0.addingClamped(max(0, $1.next - $1.from)) }
        // Epochs that were met just before the interruption are not stored.
        for position in positions where !log.epochs.contains(where: { $0.epoch == position.epoch }) {
            spans = spans.addingClamped(position.next)
        }
        log.counts.paused = max(0, log.gaps.reduce(spans - log.counts.written) { $0.subtractingClamped($1.count) })
    }
}
