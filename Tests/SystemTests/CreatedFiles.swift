import Glibc
import Synchronization
import SystemPackage

/// Notes the name of every file that is created in a directory, even if the file was removed since (inotify(7)).
final class CreatedFiles: Sendable {
    private let descriptor: FileDescriptor
    private let seen = Mutex<[String]>([])

    /// Watches from now on.
    init(in directory: FilePath) throws {
        descriptor = FileDescriptor(rawValue: inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)))
        guard inotify_add_watch(descriptor.rawValue, directory.string, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
            throw Errno(rawValue: errno)
        }
    }

    deinit {
        try? descriptor.close()
    }

    /// The names so far, in order; a name is repeated for each time it was created.
    func names() throws -> [String] {
        try seen.withLock { names in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count: Int
                do {
                    count = try buffer.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                } catch Errno.wouldBlock {
                    return names
                }
                Self.append(buffer[..<count], to: &names)
            }
        }
    }

    /// An event consists of four numbers of four bytes, the last of which is the length of the name that follows, padded with
    /// zeros.
    private static func append(_ events: ArraySlice<UInt8>, to names: inout [String]) {
        var rest = events
        while rest.count >= MemoryLayout<inotify_event>.size {
            let length = rest.dropFirst(12).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(16)
            names.append(String(decoding: rest.prefix(length).prefix { $0 != 0 }, as: UTF8.self))
            rest = rest.dropFirst(length)
        }
    }
}
