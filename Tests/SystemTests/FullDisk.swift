import FoundationEssentials
import Glibc
import Messages
import SystemPackage
import TestSupport

/// A recorder whose data directory is a small disk of its own: a tmpfs(5) in a mount namespace that nobody else sees.
struct FullDisk {
    let recorder: ProgramUnderTest
    let ready: ProgramReady
    /// The data directory, as this process reaches it while the recorder runs (proc_pid_root(5)).
    let data: FilePath

    /// Whether this machine lets its users have a mount namespace.
    static let isPossible = system("unshare --user --map-root-user --mount true 2>/dev/null") == 0

    /// Runs a recorder.
    /// - Parameters:
    ///   - megabytes: the disk's size.
    ///   - options: more for its command line.
    static func run(
        megabytes: Int, subscribe: String, options: [String] = [], in directory: FilePath,
        _ body: (FullDisk) async throws -> Void
    ) async throws {
        let data = directory.appending("disk")
        try FileManager.default.createDirectory(atPath: data.string, withIntermediateDirectories: true)
        let script = #"mount -t tmpfs -o size="$1"m none "$2" && shift && exec "$0" --data "$@""#
        let program = try ProductsDirectory.executable("recorder")
        let arguments =
            [
                "unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, program.string,
                "\(megabytes)", data.string, "--subscribe", subscribe, "--publish", "tcp://127.0.0.1:*", "--reply",
                "tcp://127.0.0.1:*",
            ] + options
        try await ProgramUnderTest.run(executable: "/usr/bin/env", arguments: arguments, in: directory) { recorder in
            let ready = try await recorder.ready()
            guard let process = recorder.processIdentifier else { throw TestFailure("the recorder has ended") }
            let root = FilePath("/proc/\(process)/root")
            try await body(
                FullDisk(recorder: recorder, ready: ready, data: root.appending(data.removingRoot().components)))
        }
    }
}
