import SystemPackage

/// A file that grows by whole appends, each of which is there entirely or not at all.
///
/// The file may have a terminator, bytes that always stand at its end: each append overwrites it, and brings a new one.
/// After a failed append the file is made what it was before; if even that fails, the next append tries it again first,
/// and nothing is written on top of a damaged end.
///
/// A value that stands for the one file: only the latest may be appended to. `handle` may be synced from any thread.
struct GrowingFile: Sendable {
    let handle: OpenFile
    /// The bytes that are valid: all of the file's, terminator included.
    private(set) var length: Int64

    private let terminator: [UInt8]
    private let calls: FileCalls
    private var isDamaged = false

    /// Makes the file, which must not be there yet, with its first bytes. Nothing is durable before `handle.sync()`.
    ///
    /// - Parameter opening: what the file has from the beginning, with the terminator at its end.
    init(creating path: FilePath, opening: [UInt8], terminator: [UInt8], calls: FileCalls) throws(RecordingError) {
        handle = try OpenFile(
            path, .readWrite, options: [.create, .exclusiveCreate],
            permissions: [.ownerReadWrite, .groupRead, .otherRead],
            action: "create", calls: calls)
        self.terminator = terminator
        self.calls = calls
        length = 0
        do throws(Errno) {
            try writeAll(opening, at: 0)
            length = Int64(opening.count)
        } catch {
            // Without its opening the file is none, and a second try must be able to make it.
            try? Directory.removeFile(path)
            throw RecordingError(error, action: "write to", path: path)
        }
    }

    /// Goes on with a file that is there: cuts off what stands behind its first `length` bytes, and makes the
    /// terminator the last of these. May be cut off itself, and done again.
    ///
    /// - Throws: `unreadable` if the file is too short for that.
    init(
        reopening path: FilePath, length: Int64, terminator: [UInt8], calls: FileCalls
    ) throws(RecordingError) {
        handle = try OpenFile(path, .readWrite, action: "open", calls: calls)
        self.terminator = terminator
        self.calls = calls
        self.length = length
        let kept = length - Int64(terminator.count)
        guard kept >= 0, try handle.byteCount() >= kept else {
            throw RecordingError(
                .unreadable, action: "go on writing", path: path, reason: "it has fewer than \(kept) bytes",
                advice: "Another program must have changed it; keep others out of the data directory.")
        }
        isDamaged = true
        try repair()
    }

    /// Adds bytes that end with the terminator, in place of the one that is there.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) {
        try repair()
        let start = length - Int64(terminator.count)
        do throws(Errno) {
            try writeAll(bytes, at: start)
        } catch {
            isDamaged = true
            try? repair()
            throw RecordingError(error, action: "write to", path: handle.path)
        }
        length = start + Int64(bytes.count)
    }

    /// As above.
    mutating func append(_ bytes: [UInt8]) throws(RecordingError) {
        try bytes.withUnsafeBufferPointer { bytes throws(RecordingError) in
            try append(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Puts the terminator back and cuts off what stands behind it, where an append that failed could not do so.
    ///
    /// In this order neither step needs room on the disk.
    mutating func repair() throws(RecordingError) {
        guard isDamaged else { return }
        do throws(Errno) {
            try writeAll(terminator, at: length - Int64(terminator.count))
            try SystemCall.repeating { () throws(Errno) in try calls.resize(handle.descriptor, length) }
        } catch {
            throw RecordingError(error, action: "write to", path: handle.path)
        }
        isDamaged = false
    }

    private func writeAll(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
        try bytes.withUnsafeBufferPointer { bytes throws(Errno) in
            try writeAll(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = try SystemCall.repeating { () throws(Errno) in
                try calls.write(handle.descriptor, rest, offset + Int64(written))
            }
            // A disk that takes nothing and reports nothing must not be asked for ever.
            if count <= 0 { throw .ioError }
            written += count
        }
    }
}
