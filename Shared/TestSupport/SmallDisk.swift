import FoundationEssentials
import Glibc
package import SystemPackage

/// A small disk for one program: a tmpfs(5) in a mount namespace of its own.
package struct SmallDisk: Sendable {
    /// Whether this machine allows mount namespaces for unprivileged users.
    package static let isPossible = system("unshare --user --map-root-user --mount true 2>/dev/null") == 0

    /// The mount point, as the program sees it.
    package let path: FilePath
    private let megabytes: Int
    private let contents: FilePath?

    /// A disk for `ProgramUnderTest.run`.
    /// - Parameters:
    ///   - path: the mount point, as the program sees it; the directory is made.
    ///   - contents: a directory whose files are copied to the disk before the program starts.
    package init(megabytes: Int, at path: FilePath, contents: FilePath? = nil) throws {
        self.megabytes = megabytes
        self.path = path
        self.contents = contents
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
    }

    /// The disk's path for this process while the program runs; valid once the program has printed something (proc_pid_root(5)).
    /// - Throws: `TestFailure` if the program has ended.
    package func path(in program: ProgramUnderTest) throws -> FilePath {
        guard let process = program.processIdentifier else { throw TestFailure("the program has ended") }
        return FilePath("/proc/\(process)/root").appending(path.removingRoot().components)
    }

    /// Writes to a file until the disk is full.
    package static func fill(_ file: FilePath) throws {
        let file = try FileDescriptor.open(file, .writeOnly, options: .create, permissions: .ownerReadWrite)
        try file.closeAfter {
            for size in [1 << 16, 1 << 12, 1] {
                let bytes = [UInt8](repeating: 0x20, count: size)
                do {
                    while true { try file.writeAll(bytes) }
                } catch Errno.noSpace {}
            }
        }
    }

    /// Arguments for env(1), which mounts the disk and then executes the program.
    func arguments(running executable: FilePath, _ arguments: [String]) -> [String] {
        let script = #"""
            mount -t tmpfs -o size="$1"m none "$2" && { [ -z "$3" ] || cp -a "$3"/* "$2"; } && shift 3 && exec "$0" "$@"
            """#
        return [
            "unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, executable.string,
            "\(megabytes)", path.string, contents?.string ?? "",
        ] + arguments
    }
}
