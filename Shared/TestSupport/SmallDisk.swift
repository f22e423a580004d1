import FoundationEssentials
import Glibc
package import SystemPackage

/// A small disk that a program has to itself: a tmpfs(5) in a mount namespace that nobody else sees.
package struct SmallDisk: Sendable {
    /// Whether this machine lets its users have a mount namespace.
    package static let isPossible = system("unshare --user --map-root-user --mount true 2>/dev/null") == 0

    /// Where the program finds it.
    package let path: FilePath
    private let megabytes: Int
    private let contents: FilePath?

    /// A disk for `ProgramUnderTest.run`.
    /// - Parameters:
    ///   - path: where the program finds it; the directory is made.
    ///   - contents: a directory whose files are on it when the program starts.
    package init(megabytes: Int, at path: FilePath, contents: FilePath? = nil) throws {
        self.megabytes = megabytes
        self.path = path
        self.contents = contents
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
    }

    /// Where this process finds it while the program runs, once that has said something (proc_pid_root(5)).
    /// - Throws: `TestFailure` if the program has ended.
    package func path(in program: ProgramUnderTest) throws -> FilePath {
        guard let process = program.processIdentifier else { throw TestFailure("the program has ended") }
        return FilePath("/proc/\(process)/root").appending(path.removingRoot().components)
    }

    /// Writes a file until its disk has not a byte left.
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

    /// The arguments with which env(1) makes the disk and becomes a program that has it.
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
