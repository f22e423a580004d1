import Glibc
import SystemPackage

/// An open directory; its entries stay reachable even if its path changes. Closed with its last reference.
final class DirectoryDescriptor: Sendable {
    let number: Int32

    /// Opens a directory by path. A symbolic link in the path is followed, because the user chose it.
    init(_ path: FilePath) throws(Errno) {
        number = try Self.check(open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    }

    /// Opens an entry that is a directory itself.
    /// - Throws: `notDirectory` for anything else, including a symbolic link.
    init(_ name: String, in folder: DirectoryDescriptor) throws(Errno) {
        number = try Self.check(openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    }

    deinit {
        // Nothing was written, so an error of close does not matter.
        _ = close(number)
    }

    /// The status of an entry; `nil` if it does not exist. A symbolic link is not followed.
    func status(of name: UnsafePointer<CChar>) throws(Errno) -> stat? {
        var status = stat()
        guard fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) != 0 else { return status }
        let errno = Errno(rawValue: Glibc.errno)
        if errno == .noSuchFileOrDirectory { return nil }
        throw errno
    }

    /// The status of the directory itself.
    func status() throws(Errno) -> stat {
        var status = stat()
        _ = try Self.check(fstat(number, &status))
        return status
    }

    /// The bytes of an entry that is a regular file itself.
    /// - Throws: `invalidArgument` for anything else that can be opened.
    func read(_ name: String) throws(Errno) -> [UInt8] {
        // Non-blocking, because opening a pipe would wait for its other end.
        let file = try Self.check(openat(number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
        defer { _ = close(file) }
        var status = stat()
        _ = try Self.check(fstat(file, &status))
        guard status.st_mode & S_IFMT == S_IFREG else { throw .invalidArgument }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[length...])
                return Glibc.read(file, rest.baseAddress, rest.count)
            }
            if count < 0 {
                let errno = Errno(rawValue: Glibc.errno)
                if errno != .interrupted { throw errno }
            } else if count == 0 {
                // The file has become shorter in the meantime.
                bytes.removeSubrange(length...)
            } else {
                length += count
            }
        }
        return bytes
    }

    func remove(_ name: String) throws(Errno) {
        _ = try Self.check(unlinkat(number, name, 0))
    }

    /// Bytes of regular files, including those in subdirectories.
    /// - Parameter isCounted: whether an entry of this directory counts.
    func bytes(_ isCounted: (UnsafePointer<CChar>) -> Bool = { _ in true }) throws(Errno) -> Int {
        var bytes = 0
        try forEachName { name throws(Errno) in
            guard isCounted(name), let status = try status(of: name) else { return }
            switch status.st_mode & S_IFMT {
            case S_IFREG: bytes += Int(status.st_size)
            case S_IFDIR: bytes += try DirectoryDescriptor(String(cString: name), in: self).bytes()
            default: break
            }
        }
        return bytes
    }

    /// Removes a directory and its contents. Symbolic links are removed, not followed.
    func removeTree(_ name: String) throws(Errno) {
        let tree = try DirectoryDescriptor(name, in: self)
        var names: [String] = []
        try tree.forEachName { names.append(String(cString: $0)) }
        for entry in names {
            guard let status = try tree.status(of: entry) else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                try tree.removeTree(entry)
            } else {
                try tree.remove(entry)
            }
        }
        _ = try Self.check(unlinkat(number, name, AT_REMOVEDIR))
    }

    func rename(_ name: String, to newName: String) throws(Errno) {
        _ = try Self.check(renameat(number, name, number, newName))
    }

    /// Waits until the directory's entries would survive a power failure.
    func sync() throws(Errno) {
        while fsync(number) != 0 {
            let errno = Errno(rawValue: Glibc.errno)
            if errno != .interrupted { throw errno }
        }
    }

    /// Calls `body` with each entry's null-terminated name, in no order and without `.` and `..`.
    func forEachName(_ body: (UnsafePointer<CChar>) throws(Errno) -> Void) throws(Errno) {
        // A separate open file description, so that each listing starts at the beginning.
        let copy = try Self.check(openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard let stream = fdopendir(copy) else {
            let errno = Errno(rawValue: Glibc.errno)
            _ = close(copy)
            throw errno
        }
        defer { closedir(stream) }
        while true {
            Glibc.errno = 0
            guard let entry = readdir(stream) else {
                let errno = Errno(rawValue: Glibc.errno)
                if errno.rawValue != 0 { throw errno }
                return
            }
            let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
            let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
            if name[0] == 0x2E, name[1] == 0 || (name[1] == 0x2E && name[2] == 0) { continue }
            try body(name)
        }
    }

    private static func check(_ result: Int32) throws(Errno) -> Int32 {
        if result < 0 { throw Errno(rawValue: Glibc.errno) }
        return result
    }
}
