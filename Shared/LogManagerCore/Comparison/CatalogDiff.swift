package import Messages

/// What has to be done so that the catalog has what the disk has: for the files of a log in a session, or for a part of
/// them that stand one after another.
///
/// Also gives each file the time at which it was finished: its own, but later than that of the file before it.
package struct CatalogDiff: Sendable {
    /// Files that the catalog does not have.
    package private(set) var added: [ScannedFile] = []
    /// Files that the catalog has, and as it should have them.
    package private(set) var updated: [(old: CatalogFile, new: CatalogFile)] = []
    /// Those of the updated ones that have other bytes than before.
    package private(set) var changed: [CatalogFile] = []
    /// Files that are only in the catalog.
    package private(set) var gone: [CatalogFile] = []
    /// When the last file was finished; if there is none, when the one before the span was.
    package private(set) var last: WallTime?

    /// - Parameters:
    ///   - known: what the catalog has, in order.
    ///   - found: what the disk has, in order.
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

    /// Whether the catalog has it all.
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
