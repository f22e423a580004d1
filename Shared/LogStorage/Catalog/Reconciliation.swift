package import Files
package import LogManagerCore
import Messages
import Recording
import SystemPackage

/// Updates the catalog from a session's directory: files that were added, removed or changed without an event.
///
/// Works in steps of a bounded number of files; the catalog can be used between steps. Wherever the earlier listing differs from
/// the catalog, the disk is read again, so that files added or removed since are noticed.
package struct Reconciliation {
    /// How many files a step compares.
    package static let stepSize = Catalog.batchSize

    private let stepSize: Int
    private let content: DataDirectory.Content
    private let catalog: Catalog
    private let folder: DataDirectory
    /// The files of the listing that are still to be compared.
    private var found: ArraySlice<ScannedFile>
    /// The logs that are still to be compared, by name.
    private var logs: ArraySlice<LogName>
    /// Where the next step begins in the first log.
    private var start = Catalog.SpanStart.first
    private var isDone = false

    /// - Parameter content: an earlier listing of the directory.
    package init(
        of content: DataDirectory.Content, in catalog: Catalog, folder: DataDirectory, stepSize: Int = Self.stepSize
    ) throws(RecordingError) {
        self.stepSize = stepSize
        self.content = content
        self.catalog = catalog
        self.folder = folder
        found = content.files[...]
        isDone = content.isUnread
        var all: [LogName] = []
        for file in content.files where !(all.last?.isSame(as: file.log) ?? false) { all.append(file.log) }
        let names = Set(all.map { Array($0.text.utf8) })
        let added = try catalog.logs(of: content.session).filter { !names.contains(Array($0.text.utf8)) }
        logs = (all + added).sorted { $0.isBefore($1) }[...]
    }

    /// Compares the next files.
    /// - Returns: the differences; `nil` if all files were compared before.
    package mutating func step() throws(RecordingError) -> CatalogChanges? {
        if isDone { return nil }
        let directory = try folder.openIfThere(content.session)
        var left = stepSize
        var differences: [CatalogDiff] = []
        while left > 0, let log = logs.first {
            differences.append(try difference(of: log, in: directory, left: &left))
        }
        isDone = logs.isEmpty
        let isOver = isDone && content.exists ? content.isOver : nil
        var changes = try catalog.apply(differences, to: content.session, isOver: isOver)
        if isOver == true {
            changes.remains = SessionRemains(
                bytes: content.otherBytes, files: content.files.count + content.currentFiles)
        }
        if isDone, directory == nil { try catalog.forget(content.session) }
        return changes
    }

    /// The difference for the next files of a log.
    private mutating func difference(
        of log: LogName, in directory: SessionListing?, left: inout Int
    ) throws(RecordingError) -> CatalogDiff {
        let (last, known) = try catalog.span(of: log, in: content.session, from: start, limit: left)
        // The files in `found` from here on that belong to the log and lie before the end of the known files.
        let isAllKnown = known.count < left
        let knownEnd = known.last.map { SegmentOrder($0.name) }
        var span = found.prefix(left).prefix { $0.log.isSame(as: log) }
        if !isAllKnown, let knownEnd { span = span.prefix { SegmentOrder($0.name) <= knownEnd } }
        var part = known[...]
        let foundEnd = span.last.map { SegmentOrder($0.name) }
        let isAllFound = span.endIndex == found.endIndex || !found[span.endIndex].log.isSame(as: log)
        if !isAllFound, let foundEnd { part = part.prefix { SegmentOrder($0.name) <= foundEnd } }
        found = found[span.endIndex...]
        left -= max(span.count, part.count, 1)
        if isAllKnown, isAllFound, part.count == known.count {
            logs.removeFirst()
            start = .first
        } else if let end = [foundEnd, part.last.map { SegmentOrder($0.name) }].compactMap({ $0 }).max() {
            start = .after(end)
        }
        do {
            let found = try verified(span, known: part, in: directory)
            return CatalogDiff(known: Array(part), found: found, after: last)
        } catch {
            throw RecordingError(error, action: "look at the files of session", path: FilePath(content.session.text))
        }
    }

    /// These files as they are on the disk now, in order; read again if listing and catalog differ.
    private func verified(
        _ span: ArraySlice<ScannedFile>, known: ArraySlice<CatalogFile>, in directory: SessionListing?
    ) throws(Errno) -> [ScannedFile] {
        var files: [ScannedFile] = []
        var known = known
        func look(_ name: FinishedName) throws(Errno) -> ScannedFile? {
            let place = LogFilePath(session: content.session, name: name)
            return catalog.removing.contains(place) ? nil : try directory?.find(name)
        }
        for file in span {
            let order = SegmentOrder(file.name)
            while let first = known.first, SegmentOrder(first.name) < order {
                known.removeFirst()
                if let now = try look(first.name) { files.append(now) }
            }
            if let first = known.first, SegmentOrder(first.name) == order {
                known.removeFirst()
                if first.identity == file.identity {
                    files.append(file)
                } else if let now = try look(file.name) {
                    files.append(now)
                }
            } else if file.isFinished, var now = try look(file.name) {
                now.sha256 = now.identity == file.identity ? file.sha256 : nil
                files.append(now)
            }
        }
        for rest in known {
            if let now = try look(rest.name) { files.append(now) }
        }
        return files
    }
}
