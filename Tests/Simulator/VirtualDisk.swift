import Files
import Glibc
import Synchronization
import SystemPackage
import TestSupport

/// The disk of a simulated machine: real files, whose latest writes and names a power cut may undo.
///
/// A write counts as lost until its file is synced, a new name until its directory is. A power cut keeps a beginning of each
/// file's writes since its last sync, sometimes with some pages zero, and a beginning of the new names.
final class VirtualDisk: Sendable {
    private struct FileNumber: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    /// The bytes of a range before a write.
    private struct Change {
        let offset: Int64
        let old: [UInt8]
        let oldLength: Int64
        let newLength: Int64
    }

    private struct Unsynced {
        /// A descriptor of the simulation, so that the file is found under any name.
        let descriptor: FileDescriptor
        var changes: [Change] = []
    }

    private struct Renaming {
        let old: FilePath
        let new: FilePath
        /// The file that had the name before; nil if there was none.
        let backup: FilePath?
    }

    private struct State {
        var files: [FileNumber: Unsynced] = [:]
        var names: [Renaming] = []
        /// The number of calls until the program ends; nil for no end.
        var callsLeft: Int?
        /// The number of calls before the failing ones, the number of failing ones, and their error.
        var failing: (after: Int, count: Int, error: Errno)?
        var random: SplitMix
        /// Whether an unwritten page may have any bytes after a power cut, and not only zeros.
        var hasGarbage: Bool
        var counts = Counts()
    }

    struct Counts {
        var writes = 0
        var syncs = 0
        var renames = 0
        var torn = 0
        var failed = 0
    }

    private static let pageSize: Int64 = 4096

    private let state: Mutex<State>
    /// The directory that keeps files whose names were taken by others.
    private let attic: FilePath

    init(attic: FilePath, hasGarbage: Bool, random: SplitMix) {
        self.attic = attic
        state = Mutex(State(random: random, hasGarbage: hasGarbage))
    }

    var counts: Counts { state.withLock(\.counts) }

    // MARK: Calls

    /// The program's file calls. After its end they do nothing and fail.
    var calls: FileCalls {
        var calls = FileCalls()
        calls.write = { [self] descriptor, bytes, offset throws(Errno) in
            try state.withLock { state throws(Errno) in try Self.write(descriptor, bytes, offset, &state) }
        }
        calls.resize = { [self] descriptor, length throws(Errno) in
            try state.withLock { state throws(Errno) in
                try Self.countCall(&state)
                let (file, old) = try Self.status(of: descriptor)
                if length < old {
                    let bytes = try Self.read(descriptor, from: length, to: old)
                    try Self.note(
                        Change(offset: length, old: bytes, oldLength: old, newLength: length), of: file, descriptor,
                        &state)
                }
                try FileCalls.system.resize(descriptor, length)
            }
        }
        calls.sync = { [self] descriptor throws(Errno) in try sync(descriptor) }
        calls.syncAll = { [self] descriptor throws(Errno) in try sync(descriptor) }
        calls.rename = { [self] old, new throws(Errno) in
            try state.withLock { state throws(Errno) in
                try Self.countCall(&state)
                state.counts.renames += 1
                let backup = attic.appending("\(state.counts.renames)")
                let isLinked = link(new.string, backup.string) == 0
                try FileCalls.system.rename(old, new)
                state.names.append(Renaming(old: old, new: new, backup: isLinked ? backup : nil))
            }
        }
        return calls
    }

    private static func countCall(_ state: inout State) throws(Errno) {
        if var failing = state.failing {
            defer { state.failing = failing.count > 0 ? failing : nil }
            if failing.after > 0 {
                failing.after -= 1
            } else {
                failing.count -= 1
                state.counts.failed += 1
                throw failing.error
            }
        }
        guard let left = state.callsLeft else { return }
        if left <= 0 { throw .ioError }
        state.callsLeft = left - 1
    }

    private static func write(
        _ descriptor: FileDescriptor, _ bytes: UnsafeRawBufferPointer, _ offset: Int64, _ state: inout State
    ) throws(Errno) -> Int {
        try countCall(&state)
        var part = bytes
        // The last call of a program that ends may have been interrupted at any point.
        let isLast = state.callsLeft == 0
        if isLast {
            let count =
                Bool.random(using: &state.random) ? bytes.count : Int.random(in: 0...bytes.count, using: &state.random)
            part = UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
            state.counts.torn += 1
        }
        state.counts.writes += 1
        let (file, length) = try status(of: descriptor)
        let end = offset + Int64(part.count)
        let old = try read(descriptor, from: min(offset, length), to: min(end, length))
        try note(
            Change(offset: offset, old: old, oldLength: length, newLength: max(length, end)), of: file, descriptor,
            &state)
        let count = try FileCalls.system.write(descriptor, part, offset)
        if isLast { throw .ioError }
        return count
    }

    private func sync(_ descriptor: FileDescriptor) throws(Errno) {
        try state.withLock { state throws(Errno) in
            try Self.countCall(&state)
            state.counts.syncs += 1
            if let file = state.files.removeValue(forKey: try Self.status(of: descriptor).file) {
                try? file.descriptor.close()
            }
            guard !state.names.isEmpty, let path = Self.path(of: descriptor) else { return }
            // Names become durable in their order, as with a journal.
            guard let last = state.names.lastIndex(where: { $0.new.removingLastComponent() == path }) else { return }
            for renaming in state.names[...last] { Self.forget(renaming) }
            state.names.removeSubrange(...last)
        }
    }

    private static func forget(_ renaming: Renaming) {
        if let backup = renaming.backup { unlink(backup.string) }
    }

    // MARK: Ends

    /// Ends the program during one of its next calls.
    func end(after calls: Int) { state.withLock { $0.callsLeft = calls } }

    var hasEnded: Bool { state.withLock { $0.callsLeft == 0 } }

    /// Makes some later calls fail.
    func fail(_ count: Int, after calls: Int, with error: Errno) {
        state.withLock { $0.failing = (calls, count, error) }
    }

    func endFailures() { state.withLock { $0.failing = nil } }

    /// A program begins on this disk: its predecessor's data is still in the system's memory, unless the power was cut.
    func begin() {
        state.withLock {
            $0.callsLeft = nil
            $0.failing = nil
        }
    }

    /// Undoes unsynced changes, or some of them.
    func cutPower() throws {
        try state.withLock { state in
            for renaming in state.names.suffix(Int.random(in: 0...state.names.count, using: &state.random)).reversed() {
                try FileCalls.system.rename(renaming.new, renaming.old)
                if let backup = renaming.backup { try FileCalls.system.rename(backup, renaming.new) }
            }
            for renaming in state.names { Self.forget(renaming) }
            state.names = []
            let files = state.files.sorted { ($0.key.device, $0.key.inode) < ($1.key.device, $1.key.inode) }
            for (_, file) in files { try Self.tear(file, &state) }
            state.files = [:]
            state.callsLeft = nil
        }
    }

    private static func tear(_ file: Unsynced, _ state: inout State) throws {
        let kept = Int.random(in: 0...file.changes.count, using: &state.random)
        for change in file.changes[kept...].reversed() {
            try FileCalls.system.resize(file.descriptor, change.oldLength)
            _ = try change.old.withUnsafeBytes { bytes in
                bytes.isEmpty ? 0 : try FileCalls.system.write(file.descriptor, bytes, change.offset)
            }
        }
        // Pages are written in any order, and one may be missing or incomplete.
        if let change = file.changes[..<kept].randomElement(using: &state.random), change.newLength > change.offset,
            Bool.random(using: &state.random)
        {
            let start = Int64.random(in: change.offset..<change.newLength, using: &state.random)
            let count = Int(min(Self.pageSize - start % Self.pageSize, change.newLength - start))
            let isGarbage = state.hasGarbage && Bool.random(using: &state.random)
            let page = (0..<count).map { _ in isGarbage ? UInt8.random(in: .min ... .max, using: &state.random) : 0 }
            _ = try page.withUnsafeBytes { try FileCalls.system.write(file.descriptor, $0, start) }
            state.counts.torn += 1
        }
        try file.descriptor.close()
    }

    /// Closes all descriptors of written files.
    func close() {
        state.withLock { state in
            for file in state.files.values { try? file.descriptor.close() }
            state.files = [:]
        }
    }

    // MARK: Files

    private static func note(
        _ change: Change, of file: FileNumber, _ descriptor: FileDescriptor, _ state: inout State
    ) throws(Errno) {
        if state.files[file] == nil {
            let own = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
            if own < 0 { throw Errno(rawValue: errno) }
            state.files[file] = Unsynced(descriptor: FileDescriptor(rawValue: own))
        }
        state.files[file]?.changes.append(change)
    }

    private static func status(of descriptor: FileDescriptor) throws(Errno) -> (file: FileNumber, length: Int64) {
        var status = stat()
        if fstat(descriptor.rawValue, &status) != 0 { throw Errno(rawValue: errno) }
        return (FileNumber(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)), Int64(status.st_size))
    }

    /// Reads from a file that is open for writing; all such files are readable, too.
    private static func read(_ descriptor: FileDescriptor, from start: Int64, to end: Int64) throws(Errno) -> [UInt8] {
        if end <= start { return [] }
        let count = Int(end - start)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, read in
            read = max(0, pread(descriptor.rawValue, bytes.baseAddress, count, off_t(start)))
        }
        if bytes.count < count { throw .ioError }
        return bytes
    }

    private static func path(of descriptor: FileDescriptor) -> FilePath? {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor.rawValue)", &bytes, bytes.count - 1)
        return count > 0 ? FilePath(String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)) : nil
    }
}
