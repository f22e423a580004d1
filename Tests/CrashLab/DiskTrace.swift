import FoundationEssentials
import SystemPackage

/// A program's file calls in order, as recorded by the fault layer.
struct DiskTrace {
    /// A call, or the beginning or end of one.
    struct Record: Hashable {
        /// The numbers are those of `enum fault_layer_kind` in FaultLayer.h.
        enum Kind: UInt32 {
            case open = 1
            case write, truncate, syncBegin, syncEnd, rename, link, unlink, makeDirectory, removeDirectory, syncFailed,
                stall
        }

        /// Nanoseconds of CLOCK_MONOTONIC.
        var time: Int64
        var kind: Kind
        /// A number for each opened file of a process.
        var handle: UInt32 = 0
        /// A write's offset, a truncated file's length, a sync's number, the flags of an open, or the nanoseconds taken by a call
        /// that should be instantaneous.
        var offset = 0
        var path = ""
        /// The second path of a rename or a link.
        var second = ""
        /// The written bytes.
        var payload: [UInt8] = []

        /// Whether the call opened a file that did not exist.
        var isCreated: Bool { kind == .open && offset & 1 != 0 }
        /// Whether the call truncated the file that it opened.
        var isEmptied: Bool { kind == .open && offset & 2 != 0 }
    }

    private(set) var records: [Record] = []

    /// A trace with these calls.
    init(_ records: [Record]) { self.records = records }

    /// The size of `struct fault_layer_record`.
    private static let headerSize = 40

    /// Reads a trace. Its last record may be torn if the program was killed.
    /// - Throws: `Errno` if the file can't be read.
    init(_ path: FilePath) throws {
        let bytes = try Data(contentsOf: URL(filePath: path.string))
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start + Self.headerSize <= bytes.count {
                func word(_ offset: Int) -> UInt64 {
                    bytes.loadUnaligned(fromByteOffset: start + offset, as: UInt64.self)
                }
                func half(_ offset: Int) -> UInt32 {
                    bytes.loadUnaligned(fromByteOffset: start + offset, as: UInt32.self)
                }
                let lengths = [Int(half(32)), Int(half(36)), Int(word(16))]
                var part = start + Self.headerSize
                guard let kind = Record.Kind(rawValue: half(24)), part + lengths.reduce(0, +) <= bytes.count else {
                    return
                }
                func next(_ length: Int) -> [UInt8] {
                    defer { part += length }
                    return Array(bytes[part..<part + length])
                }
                let path = String(decoding: next(lengths[0]), as: UTF8.self)
                let second = String(decoding: next(lengths[1]), as: UTF8.self)
                records.append(
                    Record(
                        time: Int64(word(0)), kind: kind, handle: half(28), offset: Int(Int64(bitPattern: word(8))),
                        path: path, second: second, payload: next(lengths[2])))
                start = part
            }
        }
    }

    /// When calls were delayed by the machine, in nanoseconds of CLOCK_MONOTONIC.
    var stalls: [Range<Int64>] {
        records.filter { $0.kind == .stall }.map { $0.time - Int64($0.offset)..<$0.time }
    }

    /// The handles of opened files whose paths have a prefix.
    func handles(under prefix: FilePath) -> Set<UInt32> {
        Set(records.filter { $0.kind == .open && $0.path.hasPrefix(prefix.string) }.map(\.handle))
    }

    /// How often each kind of call was made; failed calls do not count.
    var counts: [FaultLayer.Call: Int] { counts { _ in true } }

    /// How often each kind of call was made on paths with a prefix.
    func counts(under prefix: FilePath) -> [FaultLayer.Call: Int] {
        let opened = handles(under: prefix)
        return counts { $0.handle == 0 ? $0.path.hasPrefix(prefix.string) : opened.contains($0.handle) }
    }

    private func counts(where isCounted: (Record) -> Bool) -> [FaultLayer.Call: Int] {
        records.filter(isCounted).reduce(into: [:]) { counts, record in
            switch record.kind {
            case .open: if record.isCreated { counts[.create, default: 0] += 1 }
            case .write: counts[.write, default: 0] += 1
            case .truncate: counts[.truncate, default: 0] += 1
            case .rename: counts[.rename, default: 0] += 1
            case .link: counts[.link, default: 0] += 1
            case .unlink: counts[.unlink, default: 0] += 1
            case .makeDirectory: counts[.mkdir, default: 0] += 1
            case .syncBegin: counts[record.offset & 1 == 0 ? .sync : .syncall, default: 0] += 1
            case .syncEnd, .removeDirectory, .syncFailed, .stall: break
            }
        }
    }

    /// The files with a successful sync after a failed one, by their names at that time.
    var resyncedPaths: [String] {
        var nodes: [String: Int] = [:]
        var handles: [UInt32: Int] = [:]
        var next = 0
        var failed: Set<Int> = []
        var resynced: [String] = []
        for record in records {
            switch record.kind {
            case .open:
                if record.isCreated || nodes[record.path] == nil {
                    nodes[record.path] = next
                    next += 1
                }
                handles[record.handle] = nodes[record.path]
            case .rename: nodes[record.second] = nodes.removeValue(forKey: record.path)
            case .link: nodes[record.second] = nodes[record.path]
            case .unlink: nodes[record.path] = nil
            case .syncFailed: if let node = handles[record.handle] { failed.insert(node) }
            case .syncEnd:
                guard let node = handles[record.handle], failed.contains(node) else { break }
                resynced += nodes.filter { $0.value == node }.map(\.key)
            case .write, .truncate, .syncBegin, .makeDirectory, .removeDirectory, .stall: break
            }
        }
        return Set(resynced).sorted()
    }
}
