import TestSupport

/// The possible contents of a disk after a power cut, derived from a program's calls.
///
/// A pure value: it takes the calls in order, and can be asked at any moment. The rules:
/// - Bytes and length that a file had when a sync began are durable once that sync has ended.
/// - Of later writes, each page of 4 KiB may have the state after any of them, or before all; it may also be torn, with each of
///   its sectors of 512 bytes in the state after a different write. The file has any of the lengths that it had meanwhile. Gaps
///   are zeros.
/// - A directory's entries that a sync found are durable once it has ended; of later changes, any number of the first may be
///   durable, in their order.
///
/// Current file systems keep more: ext4 in its default mode, for example, leaves no file longer than what was written to it.
struct DiskModel {
    private static let page = 4_096
    private static let sector = 512

    /// One change of a file's bytes.
    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        case resize(Int)
    }

    private struct File {
        var durable: [UInt8] = []
        /// The changes since the durable state, and how many changes came before them.
        var changes: [Change] = []
        var settled = 0
    }

    /// One atomic change of a directory's entries: names, and the nodes that they now stand for; nil for none.
    private typealias EntryChange = [(name: String, node: Int?)]

    private struct Directory {
        var entries: [String: Int] = [:]
        var durable: [String: Int] = [:]
        var changes: [EntryChange] = []
        var settled = 0
    }

    private var files: [Int: File] = [:]
    private var directories: [Int: Directory] = [:]
    private var nextNode = 1
    /// The node for which each handle of the running process was opened.
    private var handles: [UInt32: Int] = [:]
    /// The syncs in progress, with the number of changes when they began.
    private var syncs: [Int: (node: Int, changes: Int)] = [:]
    private let root: String

    /// An empty disk with one directory.
    init(root: String) {
        self.root = root
        directories[0] = Directory()
    }

    /// The program ended and another one starts: written data stays, open files are closed.
    mutating func beginProcess() {
        handles = [:]
        syncs = [:]
    }

    // MARK: The program's calls

    /// Takes the next call.
    mutating func apply(_ record: DiskTrace.Record) {
        switch record.kind {
        case .open: open(record)
        case .write: change(handles[record.handle], .write(offset: record.offset, bytes: record.payload))
        case .truncate: change(handles[record.handle], .resize(record.offset))
        case .syncBegin: beginSync(record)
        case .syncEnd: endSync(record)
        case .rename: rename(record)
        case .link: if let node = node(record.path) { enter([(record.second, node)]) }
        case .unlink, .removeDirectory: enter([(record.path, nil)])
        case .makeDirectory:
            directories[nextNode] = Directory()
            enter([(record.path, nextNode)])
            nextNode += 1
        // What the sync would have made durable may still become so.
        case .syncFailed, .stall: break
        }
    }

    private mutating func open(_ record: DiskTrace.Record) {
        if record.isCreated {
            files[nextNode] = File()
            enter([(record.path, nextNode)])
            nextNode += 1
        }
        guard let node = node(record.path) else { return }
        handles[record.handle] = node
        if record.isEmptied { change(node, .resize(0)) }
    }

    private mutating func change(_ node: Int?, _ change: Change) {
        if let node { files[node]?.changes.append(change) }
    }

    private mutating func beginSync(_ record: DiskTrace.Record) {
        guard let node = handles[record.handle] else { return }
        let changes =
            files[node].map { $0.settled + $0.changes.count }
            ?? directories[node].map { $0.settled + $0.changes.count } ?? 0
        syncs[record.offset] = (node, changes)
    }

    private mutating func endSync(_ record: DiskTrace.Record) {
        guard let (node, count) = syncs.removeValue(forKey: record.offset) else { return }
        // Removed from the dictionary, so that the bytes are changed in place.
        if var file = files.removeValue(forKey: node) {
            let settled = max(0, count - file.settled)
            for change in file.changes.prefix(settled) { Self.apply(change, to: &file.durable) }
            file.changes.removeFirst(settled)
            file.settled += settled
            files[node] = file
        } else if var directory = directories[node] {
            let settled = max(0, count - directory.settled)
            for change in directory.changes.prefix(settled) { Self.apply(change, to: &directory.durable) }
            directory.changes.removeFirst(settled)
            directory.settled += settled
            directories[node] = directory
        }
    }

    private mutating func rename(_ record: DiskTrace.Record) {
        guard let node = node(record.path) else { return }
        enter([(record.path, nil), (record.second, node)])
    }

    /// Applies changes of entries, atomically for each directory.
    private mutating func enter(_ changes: [(path: String, node: Int?)]) {
        for (parent, changes) in Dictionary(grouping: changes, by: { Self.split($0.path).parent }) {
            guard let node = node(parent), var directory = directories[node] else { continue }
            let change: EntryChange = changes.map { (Self.split($0.path).name, $0.node) }
            directory.changes.append(change)
            Self.apply(change, to: &directory.entries)
            directories[node] = directory
        }
    }

    private func node(_ path: String) -> Int? {
        guard path.hasPrefix(root) else { return nil }
        return path.dropFirst(root.count).split(separator: "/").reduce(0) { node, name in
            node.flatMap { directories[$0]?.entries[String(name)] }
        }
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    private static func apply(_ change: EntryChange, to entries: inout [String: Int]) {
        for (name, node) in change { entries[name] = node }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .resize(let length):
            if length < bytes.count {
                bytes.removeLast(bytes.count - length)
            } else {
                bytes += Array(repeating: 0, count: length - bytes.count)
            }
        case .write(let offset, let new):
            if bytes.count < offset + new.count {
                bytes += Array(repeating: 0, count: offset + new.count - bytes.count)
            }
            bytes.replaceSubrange(offset..<offset + new.count, with: new)
        }
    }

    // MARK: Contents after a crash

    /// How much of the unsynced changes survives.
    enum Mercy: CaseIterable, Sendable {
        /// No unsynced change survives.
        case none
        /// Every change survives, as after a kill.
        case all
        /// Any pages and any entries survive.
        case some
    }

    /// The surviving state: each file's contents by its path under the root, and the paths of the directories.
    struct DiskAfterCrash: Hashable, Sendable {
        var files: [String: [UInt8]] = [:]
        var directories: Set<String> = []
    }

    /// A possible state of the disk if the power were cut now.
    func remains(_ mercy: Mercy, using random: inout SplitMix) -> DiskAfterCrash {
        var remains = DiskAfterCrash()
        // A file that has two names has the same bytes under both.
        var contents: [Int: [UInt8]] = [:]
        collect(0, path: "", mercy, &random, &contents, &remains)
        return remains
    }

    private func collect(
        _ node: Int, path: String, _ mercy: Mercy, _ random: inout SplitMix, _ contents: inout [Int: [UInt8]],
        _ remains: inout DiskAfterCrash
    ) {
        guard let directory = directories[node] else { return }
        var entries = directory.durable
        let kept =
            switch mercy {
            case .none: 0
            case .all: directory.changes.count
            case .some: Int.random(in: 0...directory.changes.count, using: &random)
            }
        for change in directory.changes.prefix(kept) { Self.apply(change, to: &entries) }
        for (name, child) in entries.sorted(by: { $0.key < $1.key }) {
            let path = path.isEmpty ? name : "\(path)/\(name)"
            if directories[child] != nil {
                remains.directories.insert(path)
                collect(child, path: path, mercy, &random, &contents, &remains)
            } else if let file = files[child] {
                let bytes = contents[child] ?? Self.remains(of: file, mercy, &random)
                contents[child] = bytes
                remains.files[path] = bytes
            }
        }
    }

    private static func remains(of file: File, _ mercy: Mercy, _ random: inout SplitMix) -> [UInt8] {
        if mercy == .none || file.changes.isEmpty { return file.durable }
        var whole = file.durable
        // For each page, its state after each change; the first version is the durable one.
        var versions: [Int: [[UInt8]]] = [:]
        var lengths = [whole.count]
        for change in file.changes {
            let before = whole.count
            apply(change, to: &whole)
            lengths.append(whole.count)
            if mercy == .all { continue }
            let touched: Range<Int> =
                switch change {
                case .write(let offset, let bytes): min(before, offset)..<offset + bytes.count
                case .resize(let length): min(before, length)..<max(before, length)
                }
            if touched.isEmpty { continue }
            for page in touched.lowerBound / Self.page...(touched.upperBound - 1) / Self.page {
                if versions[page] == nil { versions[page] = [Self.bytes(ofPage: page, in: file.durable)] }
                versions[page]?.append(Self.bytes(ofPage: page, in: whole))
            }
        }
        if mercy == .all { return whole }
        let length = lengths[Int.random(in: 0..<lengths.count, using: &random)]
        var bytes = file.durable
        apply(.resize(max(length, file.durable.count)), to: &bytes)
        for (page, versions) in versions.sorted(by: { $0.key < $1.key }) where page * Self.page < length {
            let place = page * Self.page
            var kept = versions[Int.random(in: 0..<versions.count, using: &random)]
            if random.happens(0.3) {
                for start in stride(from: 0, to: Self.page, by: Self.sector) {
                    let other = versions[Int.random(in: 0..<versions.count, using: &random)]
                    kept.replaceSubrange(start..<start + Self.sector, with: other[start..<start + Self.sector])
                }
            }
            let end = min(bytes.count, place + Self.page)
            if place < end { bytes.replaceSubrange(place..<end, with: kept[..<(end - place)]) }
        }
        apply(.resize(length), to: &bytes)
        return bytes
    }

    /// A page, with zeros where the file is shorter.
    private static func bytes(ofPage page: Int, in bytes: [UInt8]) -> [UInt8] {
        let start = min(bytes.count, page * Self.page)
        let end = min(bytes.count, start + Self.page)
        return Array(bytes[start..<end]) + Array(repeating: 0, count: Self.page - (end - start))
    }
}
