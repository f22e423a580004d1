import Messages
import SystemPackage

/// Finds out how far one log came, from its files and the journal's lines about it, and cuts off what was torn.
///
/// Whole is what comes before the first tear. Files that are listed were synced before they were listed, and the current
/// one was up to its last commit; only what comes after that is read. A file that was renamed and not listed yet may have
/// been torn by a power cut: then it is the current one again, and what came after it goes, as it was never durable and is
/// asked for again.
///
/// May be cut off anywhere and done again: each step leaves files that say the same.
struct LogRecovery {
    private(set) var log: SessionRecord.Log
    /// A line that the journal needs.
    private(set) var correction: JournalEntry?

    private let directory: Directory
    private let format: LogFormat
    private let root: JSONRoot
    private let calls: FileCalls
    private let terminatorLength: Int
    /// Whether the session was paused at any time.
    private let wasPaused: Bool

    /// The journal's lines that were not reached yet.
    private var lines: ArraySlice<JournalEntry>
    private let allLines: [JournalEntry]
    private var positions: [RecoveredLog.Position] = []
    /// The latest line that was reached.
    private var latest: JournalEntry?
    private var gaps: [Gap] = []
    private var lastUptime: Double?
    /// The word of the last record, where it is a marker.
    private var lastMarker: String?

    /// - Parameters:
    ///   - lines: the journal's lines about the log that are valid, in the order of their index.
    init(
        _ log: SessionRecord.Log, of record: SessionRecord, in directory: Directory, lines: [JournalEntry],
        calls: FileCalls
    ) {
        self.log = log
        self.directory = directory
        self.calls = calls
        format = record.format(of: log)
        wasPaused = !record.pauses.isEmpty
        root = record.root
        terminatorLength = format == .json ? root.terminator.utf8.count : 0
        allLines = lines
        self.lines = lines[...]
        if lines.isEmpty {
            // The journal is lost: what was stored last is the best there is.
            positions = log.epochs.map { RecoveredLog.Position(epoch: $0.epoch, next: $0.next) }
        }
    }

    /// Adopts finished files, repairs the current one, and puts what was found into `log`.
    ///
    /// - Parameters:
    ///   - names: what is in the directory.
    ///   - removed: what was removed from it, and is gone.
    ///   - nextIndex: greater than the index of each line about the log.
    mutating func recover(
        names: [String], removed: [String: RemovedFile], nextIndex: Int
    ) throws(RecordingError) -> RecoveredLog {
        let torn = try adopt(names, removed)
        let segment = log.files.count
        let name = log.name.fileName(format)
        var file: LogFile?
        var tornBytes = 0
        if torn || names.contains(name) {
            let found = try scan(name, segment: segment, from: lastCommit(of: segment))
            let length = found.end + terminatorLength
            tornBytes = max(0, found.size - length)
            if found.hasRecords {
                if format != .json { takeFields(of: found.columns) }
                file = try LogFile(
                    reopening: log.name, in: directory, format: format, root: root, length: length,
                    samples: found.samples, hasRecords: true, calls: calls)
                log.file = name
            } else {
                // It says nothing. It is made anew, with its beginning, where the log goes on.
                try Directory.removeFile(directory.path.appending(name))
                tornBytes = found.size
                if log.file != nil { log.file = name }
            }
        }
        // The place of a file that was not begun.
        reach(segment, -terminatorLength)
        var isRemoved = false
        if file == nil, let last = log.files.last, lastMarker == nil {
            isRemoved = try !lookBack(in: last.name, from: last.bytes - terminatorLength)
        }
        // The last file of a log that was closed may have been removed since.
        let isStopped = lastMarker == Marker.Event.stop.name || (isRemoved && log.file == nil)
        if file == nil, isStopped { log.file = nil }
        try conclude(file)
        try settleGaps(file)
        correct(segment: segment, file, index: nextIndex)
        return RecoveredLog(
            file: file, positions: positions, counts: log.counts, gaps: log.gaps, firstUptime: log.firstUptime,
            lastUptime: log.lastUptime, isMarkedStopped: isStopped, tornBytes: tornBytes,
            nextIndex: nextIndex + (correction == nil ? 0 : 1))
    }

    /// Overtakes lines about places that were cut off: the log will come to these places again, with other records.
    private mutating func correct(segment: Int, _ file: LogFile?, index: Int) {
        guard !lines.isEmpty, log.file != nil, let position = positions.last else { return }
        correction = JournalEntry(
            .position, index: index, log: log.name, segment: segment, bytes: file?.byteCount ?? 0,
            samples: file?.sampleCount ?? 0, epoch: position.epoch, next: position.next, counts: log.counts,
            date: lines[lines.startIndex].date)
    }

    // MARK: Files

    /// Takes over finished files that are not listed.
    ///
    /// - Returns: whether one of them was torn, and is the current one now.
    private mutating func adopt(
        _ names: [String], _ removed: [String: RemovedFile]
    ) throws(RecordingError) -> Bool {
        let listed = Set(log.files.map(\.name))
        // Of a session that failed, files may go that it did not come to list.
        let unlisted = (names + removed.keys).filter { !listed.contains($0) }
            .compactMap { FinishedName($0, of: log.name) }.sorted()
        let lastRemoved = unlisted.lastIndex { removed[$0.description] != nil } ?? -1
        for (index, name) in unlisted.enumerated() {
            let segment = log.files.count
            if let file = removed[name.description] {
                adopt(file, segment: segment)
                continue
            }
            let found = try scan(name.description, segment: segment, from: nil, isFinished: true)
            let next = index + 1 < unlisted.count ? unlisted[index + 1].description : log.name.fileName(format)
            let follower = names.contains(next) ? next : nil
            // Files are synced before their successors are.
            var isWhole = index < lastRemoved || allLines.contains { $0.segment > segment && $0.kind == .commit }
            if !isWhole, found.isClean {
                isWhole = try isFollowedUp(segment, found, next: follower)
            }
            if isWhole {
                let path = directory.path.appending(name.description)
                try OpenFile(path, .readOnly, action: "open", calls: calls).syncAll()
                let (bytes, digest) = try FinishedFile.measure(path)
                log.files.append(
                    FinishedFile(name: name.description, bytes: bytes, samples: found.samples, sha256: digest))
                continue
            }
            // The last goes first, so that what stays is always a beginning.
            for later in unlisted[(index + 1)...].reversed() {
                try Directory.removeFile(directory.path.appending(later.description))
            }
            try directory.rename(name.description, to: log.name.fileName(format), calls: calls)
            restart()
            return true
        }
        return false
    }

    /// Takes over a file that was finished, and removed before it was listed: the journal knows how many samples it had.
    private mutating func adopt(_ file: RemovedFile, segment: Int) {
        let before = log.files.reduce(0) { $0 + $1.samples }
        let line = allLines.last { $0.segment == segment + 1 && $0.bytes == 0 }
        let samples = max(0, (line?.counts.written ?? before) - before)
        log.files.append(
            FinishedFile(name: file.name, bytes: file.bytes, samples: samples, sha256: file.sha256 ?? ""))
    }

    /// Whether nothing is missing at the end of a file that was finished, as far as what came after it tells.
    ///
    /// - Parameter next: the name of the file after it, where there is one.
    private func isFollowedUp(_ segment: Int, _ found: Found, next: String?) throws(RecordingError) -> Bool {
        if let line = allLines.last(where: { $0.segment == segment + 1 && $0.bytes == 0 }) {
            if let sealedBytes = line.sealedBytes { return found.size >= sealedBytes }
            return log.files.reduce(found.samples) { $0 + $1.samples } >= line.counts.written
        }
        guard let next else { return true }
        var scanner = try LogScanner(directory.path.appending(next), format: format, root: root)
        guard try scanner.next() != nil, let start = scanner.record.position,
            let end = positions.first(where: { $0.epoch == start.epoch })
        else { return true }
        return start.from <= end.next
    }

    /// Forgets what was read, to read the current file from its last commit on.
    private mutating func restart() {
        lines = allLines[...]
        latest = nil
        gaps = []
        lastMarker = nil
        if !allLines.isEmpty { positions = [] }
    }

    private func lastCommit(of segment: Int) -> JournalEntry? {
        allLines.last { $0.kind == .commit && $0.segment == segment }
    }

    // MARK: Records

    private struct Found {
        /// The end of the last whole record.
        var end: Int
        var samples: Int
        var size: Int
        var isClean: Bool
        var hasRecords: Bool
        /// Of a table.
        var columns: [String]
    }

    /// Reads a file from its last commit on, or from its beginning where that can't be right.
    ///
    /// - Parameter isFinished: whether nothing follows, although the file is whole.
    private mutating func scan(
        _ name: String, segment: Int, from commit: JournalEntry?, isFinished: Bool = false
    ) throws(RecordingError) -> Found {
        let path = directory.path.appending(name)
        let size = Int(try OpenFile(path, .readOnly, action: "open").byteCount())
        reach(segment, -terminatorLength)
        var samples = 0
        var start: Int?
        if let commit, commit.bytes <= size {
            let end = commit.bytes - terminatorLength
            let scanner = try LogScanner(path, format: format, root: root, from: end)
            if scanner.isAtBoundary, scanner.openingEnd != nil {
                start = end
                samples = commit.samples
                try lookBack(in: name, from: end)
            }
        }
        var scanner = try LogScanner(path, format: format, root: root, from: start)
        var end = scanner.end
        reach(segment, end)
        // Counts once something follows.
        var unproven: (marker: LogRecord, end: Int)?
        while let record = try scanner.next() {
            if let (marker, markerEnd) = unproven {
                take(marker)
                reach(segment, markerEnd)
                unproven = nil
            }
            if !record.isProven {
                unproven = (scanner.record, scanner.end)
                continue
            }
            if record.kind == .sample {
                samples += 1
                lastUptime = scanner.uptime
                lastMarker = nil
                if !positions.isEmpty { positions[positions.count - 1].next += 1 }
            } else {
                take(scanner.record)
            }
            end = scanner.end
            reach(segment, end)
        }
        if isFinished, scanner.isClean, let (marker, markerEnd) = unproven {
            take(marker)
            end = markerEnd
            reach(segment, end)
        }
        return Found(
            end: end, samples: samples, size: size, isClean: scanner.isClean && end == scanner.end,
            hasRecords: scanner.openingEnd.map { end > $0 } ?? false, columns: scanner.columns)
    }

    /// Notes which columns the current file has: they may have changed after they were stored, or before.
    private mutating func takeFields(of columns: [String]) {
        let formatter = RecordFormatter(format: format, sensorType: log.stream, fields: log.fields)
        let names = Array(columns.drop { $0 != "sensorType" }.dropFirst().prefix { $0 != "timestampDate" })
        if names != formatter.fields { log.fields = log.fields.prefix(1) + names }
    }

    /// Goes to the end of a record: the lines up to there count.
    private mutating func reach(_ segment: Int, _ end: Int) {
        let place = JournalPlace(segment: segment, bytes: end + terminatorLength)
        while let line = lines.first, line.place <= place {
            lines.removeFirst()
            latest = line
            setPosition(line.epoch, line.next)
            turn(to: line.epoch)
        }
    }

    private mutating func take(_ marker: LogRecord) {
        lastMarker = marker.marker
        if var gap = marker.gap {
            gap.afterUptime = lastUptime
            gaps.append(gap)
            if gap.count > 0 { setPosition(gap.epoch, gap.from + gap.count) }
        } else if let (epoch, from) = marker.position {
            setPosition(epoch, from)
            turn(to: epoch)
        }
    }

    private mutating func setPosition(_ epoch: String, _ next: Int) {
        if let index = positions.firstIndex(where: { $0.epoch == epoch }) {
            positions[index].next = next
        } else {
            // The last is the current one.
            positions.insert(RecoveredLog.Position(epoch: epoch, next: next), at: max(0, positions.count - 1))
        }
    }

    /// Makes an epoch the current one, which is the last.
    private mutating func turn(to epoch: String) {
        guard positions.last?.epoch != epoch, let index = positions.firstIndex(where: { $0.epoch == epoch }) else {
            return
        }
        positions.append(positions.remove(at: index))
    }

    /// Finds the last record and the last sample in front of a place that need not be read otherwise.
    ///
    /// - Returns: false where the file was removed.
    @discardableResult
    private mutating func lookBack(in name: String, from end: Int) throws(RecordingError) -> Bool {
        do {
            let path = directory.path.appending(name)
            guard let last = try LogScanner.last(in: path, before: end, format: format, root: root) else { return true }
            lastUptime = last.uptime ?? lastUptime
            lastMarker = last.marker
            return true
        } catch {
            if error.code == .notFound { return false }
            throw error
        }
    }

    // MARK: Conclusion

    /// Puts what was found into the log's entry.
    private mutating func conclude(_ file: LogFile?) throws(RecordingError) {
        if let latest { log.counts = latest.counts }
        log.counts.written = log.files.reduce(file?.sampleCount ?? 0) { $0 + $1.samples }
        if log.counts.written == 0 {
            log.firstUptime = nil
            log.lastUptime = nil
        } else {
            if log.firstUptime == nil { log.firstUptime = try firstUptimeInFiles(file) }
            log.lastUptime = lastUptime ?? log.lastUptime
        }
        log.intervals?.breakOff()
        for index in log.epochs.indices {
            let epoch = log.epochs[index]
            log.epochs[index].next = positions.first { $0.epoch == epoch.epoch }?.next ?? epoch.from
        }
        if positions.isEmpty, let epoch = log.epochs.first {
            positions = [RecoveredLog.Position(epoch: epoch.epoch, next: epoch.next)]
        }
    }

    /// Lists the gaps whose markers are in the part of the log that is left, and makes the counts fit: each sample of an
    /// epoch was written, left out during a pause, or lost.
    ///
    /// A gap may have been committed and not stored, or stored and not written; where that can't be told from places,
    /// all of the log is read. What was left out was counted at another place than that to which the log was cut, and is
    /// the rest.
    private mutating func settleGaps(_ file: LogFile?) throws(RecordingError) {
        let stored = log.gaps
        let ends = Set(gaps.map(\.start))
        let isInLog = stored.map { self.isInLog($0, ends) }
        log.gaps = zip(stored, isInLog).filter { $1 == true }.map(\.0)
        addGaps(gaps)
        if unexplained > 0 || isInLog.contains(nil) {
            let found = try allGaps(file)
            let starts = Set(found.map(\.start))
            // Those in files that were removed were stored before.
            let hasRemoved = log.files.contains { !directory.contains($0.name) }
            log.gaps = zip(stored, isInLog).filter { gap, isInLog in
                starts.contains(gap.start) || (hasRemoved && isInLog != false)
            }.map(\.0)
            addGaps(found)
        }
        if wasPaused { log.counts.paused = max(0, log.counts.paused + unexplained) }
    }

    /// Lists gaps that are not.
    private mutating func addGaps(_ found: [Gap]) {
        let known = Set(log.gaps.map(\.start))
        log.gaps += found.filter { !known.contains($0.start) }
    }

    /// Whether the marker of a gap that was stored is in the part of the log that is left; `nil` where places don't tell.
    /// - Parameter ends: where the gaps begin whose markers were read.
    private func isInLog(_ gap: Gap, _ ends: Set<Gap.Start>) -> Bool? {
        if ends.contains(gap.start) { return true }
        guard let next = positions.first(where: { $0.epoch == gap.epoch })?.next else { return false }
        if gap.count > 0 { return gap.from + gap.count <= next }
        // Of unknown length: it moves no place.
        return gap.from < next ? true : gap.from > next ? false : nil
    }

    /// The names of the log's files, in order.
    private func names(_ file: LogFile?) -> [String] {
        log.files.map(\.name) + (file == nil ? [] : [log.name.fileName(format)])
    }

    /// Reads a file from its beginning; `nil` where it was removed.
    private func scanner(of name: String) throws(RecordingError) -> LogScanner? {
        do {
            return try LogScanner(directory.path.appending(name), format: format, root: root)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    private func firstUptimeInFiles(_ file: LogFile?) throws(RecordingError) -> Double? {
        for name in names(file) {
            guard var scanner = try scanner(of: name) else { continue }
            while let record = try scanner.next() {
                if record.kind == .sample { return scanner.uptime }
            }
        }
        return nil
    }

    /// The gaps that the log's files have markers of.
    private func allGaps(_ file: LogFile?) throws(RecordingError) -> [Gap] {
        var found: [Gap] = []
        for name in names(file) {
            guard var scanner = try scanner(of: name) else { continue }
            var last: Double?
            while let record = try scanner.next() {
                if record.kind == .sample {
                    last = scanner.uptime
                } else if var gap = scanner.record.gap {
                    gap.afterUptime = last
                    found.append(gap)
                }
            }
        }
        return found
    }

    /// Samples of the epochs of which nothing is known; negative where more is known than there can be.
    private var unexplained: Int {
        var spans = log.epochs.reduce(0) { $0.addingClamped(max(0, $1.next - $1.from)) }
        // Those that were met just before the end are not stored.
        for position in positions where !log.epochs.contains(where: { $0.epoch == position.epoch }) {
            spans = spans.addingClamped(position.next)
        }
        return log.gaps.reduce(spans - log.counts.received) { $0.addingClamped(-$1.count) }
    }
}

extension Gap {
    /// Its first sample: no two gaps of a log begin with the same.
    fileprivate struct Start: Hashable {
        let epoch: String
        let from: Int
    }

    fileprivate var start: Start { Start(epoch: epoch, from: from) }
}
