import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// An nginx that keeps files on a small disk of its own.
struct SmallServer: Sendable {
    /// Where files go by PUT.
    let address: String
    /// Where they are then, as this process reaches it while the server runs.
    let files: FilePath

    /// Runs it as long as the body runs.
    static func run(megabytes: Int, _ body: (SmallServer) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let disk = try SmallDisk(megabytes: megabytes, at: directory.appending("disk"))
            try await Nginx.serve(in: directory, on: disk) {
                let port = try FreePort.next()
                return (
                    port, "listen 127.0.0.1:\(port); root \(disk.path); location /archives/ { dav_methods PUT; }"
                )
            } body: { port, program in
                let files = try disk.path(in: program).appending("archives")
                try FileManager.default.createDirectory(atPath: files.string, withIntermediateDirectories: false)
                try await body(SmallServer(address: "http://127.0.0.1:\(port)/archives/", files: files))
            }
        }
    }

    /// Leaves so much room, whatever else is there.
    func fill(leaving bytes: Int) throws {
        var status = statvfs()
        guard statvfs(files.string, &status) == 0 else { throw Errno(rawValue: errno) }
        let free = Int(status.f_bavail) * Int(status.f_frsize)
        try Data(count: free - bytes).write(to: URL(filePath: filler.string))
    }

    /// Makes room again.
    func empty() throws { try FileManager.default.removeItem(atPath: filler.string) }

    private var filler: FilePath { files.removingLastComponent().appending("filler") }
}
