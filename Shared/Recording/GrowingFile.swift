import SystemPackage

/// A file that grows by whole appends, each of which is there entirely or not at all.
///
/// The file may have a terminator, bytes that always stand at its end: each append overwrites it, and brings a new one.
/// After a failed append the file is made what it was before; if even that fails, the next append tries it again first,
/// and nothing is written on top of a damaged end.
///
/// Not Sendable: one thread appends. `handle` may be synced from any.
final class GrowingFile {
    let handle: OpenFile
    /// The bytes that are valid: all of the file's, terminator included.
    private(set) var length: Int64

    private let terminator: [UInt8]
    private let calls: FileCalls
    private var isDamaged = false

    /// Makes the file, which must not be there yet, with its first bytes.
    ///
    /// - Parameter opening: what the file has from the beginning, with the terminator at its end.
    init(creating path: FilePath, opening: [UInt8], terminator: [UInt8], calls: FileCalls) throws(RecordingError) {
        handle = try OpenFile(
            path, .readWrite, options: [.create, .exclusiveCreate],
            permissions: [.ownerReadWrite, .groupRead, .otherRead],
            action: "create")
        self.terminator = terminator
        self.calls = calls
        length = 0
        do {
            try writeAll(opening, at: 0)
            length = Int64(opening.count)
            try Directory(path.removingLastComponent()).sync()
        } catch {
            // Without its opening the file is none, and a second try must be able to make it.
            try? Directory.removeFile(path)
            throw error as? RecordingError
                ?? RecordingError(error as? Errno ?? .ioError, action: "write to", path: path)
        }
    }

    /// Adds bytes that end with the terminator, in place of the one that is there.
    func append(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) {
        let start = length - Int64(terminator.count)
        do throws(Errno) {
            if isDamaged { try restore() }
            do throws(Errno) {
                try writeAll(bytes, at: start)
            } catch {
                isDamaged = true
                try? restore()
                throw error
            }
        } catch {
            throw RecordingError(error, action: "write to", path: handle.path)
        }
        length = start + Int64(bytes.count)
    }

    /// Puts the terminator back and cuts off what stands behind it.
    ///
    /// In this order neither step needs room on the disk.
    private func restore() throws(Errno) {
        try writeAll(terminator, at: length - Int64(terminator.count))
        try SystemCall.repeating { () throws(Errno) in try calls.resize(handle.descriptor, length) }
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
