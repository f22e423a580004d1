package import Messages

/// The changes that make the catalog match the disk, for the files of one log in a session or a consecutive part of them.
///
/// Each file also gets the time at which it was finished: its own, but later than that of the file before it.
package struct CatalogDiff: Sendable {
    /// Files that are only on the disk.
    package private(set) var added: [ScannedFile] = []
    /// Files in the catalog that need an update, with their new state.
    package private(set) var updated: [(old: CatalogFile, new: CatalogFile)] = []
    /// Those updated files whose bytes changed.
    package private(set) var changed: [CatalogFile] = []
    /// Files that are only in the catalog.
    package private(set) var gone: [CatalogFile] = []
    /// When the last file was finished; without files, when the one before the span was.
    package private(set) var last: WallTime?

    /// - Parameters:
    ///   - known: the files in the catalog, in order.
    ///   - found: the files on the disk, in order.
    ///   - last: when the file before them was finished.
    package init(known: [CatalogFile], found: [ScannedFile], after last: WallTime?) {
        self.last = last
        var known = known[...]
        for file in found {
            let order = SegmentOrder(file.name)
            while let first = known.first, SegmentOrder(first.name) < order {
                gone.append(first)
                known.removeFirst()
            }
            if let first = known.first, SegmentOrder(first.name) == order {
                compare(first, with: file)
                known.removeFirst()
            } else {
                var file = file
                file.finished = next(file.finished)
                added.append(file)
            }
        }
        gone += known
    }

    /// Whether catalog and disk agree.
    package var isEmpty: Bool { added.isEmpty && updated.isEmpty && gone.isEmpty }

    private mutating func compare(_ known: CatalogFile, with file: ScannedFile) {
        var new = known
        if known.identity != file.identity {
            new.identity = file.identity
            if !file.identity.hasSameContent(as: known.identity) {
                new.sha256 = nil
                new.uploaded = nil
                new.receipt = nil
                new.finished = file.finished
                changed.append(known)
            }
        }
        new.finished = next(new.finished)
        if new != known { updated.append((known, new)) }
    }

    private mutating func next(_ own: WallTime) -> WallTime {
        var time = own
        if let last, time <= last {
            time = WallTime(nanosecondsSince1970: last.nanosecondsSince1970 + 1)
        }
        last = time
        return time
    }
}
