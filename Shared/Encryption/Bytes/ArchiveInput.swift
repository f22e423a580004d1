package import SystemPackage

/// An archive's file, open for reading.
package final class ArchiveInput {
    package let path: FilePath
    private let descriptor: FileDescriptor

    package init(_ path: FilePath) throws(ArchiveError) {
        self.path = path
        do {
            descriptor = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
        } catch {
            let errno = error as? Errno ?? .ioError
            throw ArchiveError(
                errno == .noSuchFileOrDirectory ? .notFound : .inputOutput,
                "Could not open \(path): \(errno). Check the path.")
        }
    }

    deinit {
        try? descriptor.close()
    }

    /// The size of the file, in bytes.
    package func length() throws(ArchiveError) -> Int {
        do {
            return Int(try descriptor.stat().size)
        } catch {
            throw ArchiveError(.inputOutput, "Could not look at \(path): \(error).")
        }
    }

    /// Fills the buffer from an offset, up to the file's end.
    /// - Returns: the number of bytes read.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int {
        var count = 0
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            do {
                let read = try descriptor.read(fromAbsoluteOffset: Int64(offset + count), into: rest)
                if read == 0 { return count }
                count += read
            } catch {
                throw ArchiveError(.inputOutput, "Could not read \(path): \(error as? Errno ?? .ioError).")
            }
        }
        return count
    }

    /// Reads bytes from an offset; fewer at the file's end.
    package func bytes(at offset: Int, count: Int) throws(ArchiveError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { buffer.deallocate() }
        return Array(buffer.prefix(try read(at: offset, into: buffer)))
    }
}
