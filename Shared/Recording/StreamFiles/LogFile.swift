package import Files
package import Messages
package import SystemPackage

/// A stream file that is being written. It is valid after every write: JSON has its closing brackets, tables end with a complete
/// row.
///
/// Records come from a `RecordFormatter` in a `ByteBuffer`. One `append` is one pwrite(2) over the terminator, with a new one at
/// its end; the records are then in the file entirely or, after an error, not at all. If a failed append can't be undone at once,
/// the next one first tries to undo it again, so that nothing is written after a damaged end.
///
/// Not Sendable: one thread appends and seals. Another thread may sync `handle` meanwhile, the first time with the directory's
/// entries.
package final class LogFile {
    package let name: LogName
    package let format: LogFormat
    package let handle: OpenFile

    /// Samples written, not counting markers.
    package private(set) var sampleCount = 0
    /// The file's length: all of it is valid.
    package private(set) var byteCount: Int
    /// The hash of the stable bytes.
    package private(set) var hash = SegmentHash()

    private let terminator: [UInt8]
    /// Whether there is a record, so that the next one needs a separator before it.
    private var hasRecords = false
    private var isDamaged = false
    /// Whether bytes that an interrupted program left after the file's length may stay until the next append overwrites them:
    /// then no reader sees the file become shorter.
    private var isOverlong = false

    /// Makes the file `<name>.<extension>`, with its header and without records. Its directory must exist. Nothing is durable
    /// before a sync.
    package convenience init(
        creating name: LogName, in directory: Directory, _ beginning: FileBeginning, calls: FileCalls = .system
    ) throws(RecordingError) {
        let opening = Self.opening(beginning) + Self.terminator(beginning.format, beginning.root)
        let path = directory.path.appending(name.fileName(beginning.format))
        self.init(
            name, try OpenFile(creating: path, opening, calls: calls), beginning.format, beginning.root,
            length: opening.count)
        opening.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[..<stableByteCount]), at: 0) }
    }

    package static func opening(_ beginning: FileBeginning) -> [UInt8] {
        let isJSON = beginning.format == .json
        return Array((isJSON ? beginning.root.opening(startDate: beginning.startDate) : beginning.header).utf8)
    }

    /// Continues the file that an interrupted program left. The bytes after its last whole record are ignored: the first append
    /// overwrites them, or `repair` cuts them off. May itself be interrupted, and repeated.
    ///
    /// - Parameters:
    ///   - length: the length up to the last whole record, with the terminator.
    ///   - hasRecords: whether the file has any record, including markers.
    /// - Throws: `notFound`; `unreadable` if the file is shorter than that.
    package convenience init(
        reopening name: LogName, in directory: Directory, format: LogFormat, root: JSONRoot, length: Int,
        samples: Int, hasRecords: Bool, calls: FileCalls = .system
    ) throws(RecordingError) {
        let path = directory.path.appending(name.fileName(format))
        self.init(
            name, try OpenFile(path, .readWrite, action: "open", calls: calls), format, root, length: length)
        sampleCount = samples
        self.hasRecords = hasRecords
        guard stableByteCount >= 0, try handle.byteCount() >= stableByteCount else {
            throw .changed(path, action: "continue to write", "it has fewer than \(length) bytes")
        }
        isDamaged = true
        isOverlong = true
    }

    private init(_ name: LogName, _ handle: OpenFile, _ format: LogFormat, _ root: JSONRoot, length: Int) {
        self.name = name
        self.handle = handle
        self.format = format
        terminator = Self.terminator(format, root)
        byteCount = length
    }

    package static func terminator(_ format: LogFormat, _ root: JSONRoot) -> [UInt8] {
        format == .json ? Array(root.terminator.utf8) : []
    }

    package var path: FilePath { handle.path }

    /// How many of the file's bytes no append changes: all but the terminator.
    package var stableByteCount: Int { byteCount - terminator.count }

    /// The file's length, terminator included, after `count` bytes of records are appended.
    package func length(adding count: Int) -> Int {
        count == 0 ? byteCount : byteCount + count - skippedByteCount
    }

    /// In JSON, separators stand between records, not in front of the first.
    private var skippedByteCount: Int {
        hasRecords || format != .json ? 0 : format.separator.utf8.count
    }

    /// Moves records from the buffer to the end of the file; they are not durable before a sync. Records that an interrupted
    /// program already wrote are not written again.
    ///
    /// - Parameters:
    ///   - records: as the formatter appended them, of this log only. Empty afterwards; unchanged after an error.
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`; the file is then as before.
    package func append(_ records: inout ByteBuffer, samples: Int) throws(RecordingError) {
        let count = records.count
        if count == 0 { return }
        if !isOverlong { try repair() }
        let length = length(adding: count)
        if try !isLeft(records) {
            records.append(terminator)
            do throws(RecordingError) {
                try records.withUnsafeBytes { bytes throws(RecordingError) in
                    let new = UnsafeRawBufferPointer(rebasing: bytes[skippedByteCount...])
                    try handle.write(new, at: Int64(stableByteCount))
                }
                if isOverlong { try handle.resize(to: Int64(length)) }
            } catch {
                isDamaged = true
                try? repair()
                records.truncate(to: count)
                throw error
            }
            records.withUnsafeBytes { bytes in
                hash.add(UnsafeRawBufferPointer(rebasing: bytes[skippedByteCount..<count]), at: stableByteCount)
            }
            isDamaged = false
            isOverlong = false
        }
        byteCount = length
        records.removeAll()
        hasRecords = true
        sampleCount += samples
    }

    /// Whether an interrupted program left these records at the end of the file.
    private func isLeft(_ records: borrowing ByteBuffer) throws(RecordingError) -> Bool {
        guard isOverlong else { return false }
        let left = try handle.bytes(in: stableByteCount..<(stableByteCount + records.count - skippedByteCount))
        return records.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[skippedByteCount...]).isSame(as: left) }
    }

    /// Notes that the file is durable up to a stable offset.
    func noteSync(upTo end: Int) throws(RecordingError) {
        // Hash all that is written, so that the next append continues the hash.
        try hash.update(handle, upTo: stableByteCount, synced: end)
    }

    /// Puts the terminator back and cuts off the bytes after it. In this order, neither step needs free disk space.
    func repair() throws(RecordingError) {
        guard isDamaged else { return }
        try handle.write(terminator, at: Int64(stableByteCount))
        try handle.resize(to: Int64(byteCount))
        isDamaged = false
        isOverlong = false
    }

    /// Gives the file its final name without any sync. Nothing may be appended afterwards.
    ///
    /// - Throws: after an error, the file has its old name, and can be sealed or appended to later.
    package func seal(as newName: FinishedName) throws(RecordingError) {
        try repair()
        let directory = Directory(path.removingLastComponent())
        try directory.rename(name.fileName(format), to: newName.description, calls: handle.calls)
    }
}
