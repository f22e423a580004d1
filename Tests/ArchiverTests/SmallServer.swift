import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// An nginx that stores received files on a small disk of its own.
struct SmallServer: Sendable {
    /// The address for PUT requests.
    let address: String
    /// The path of the received files, as this process reaches it while the server runs.
    let files: FilePath

    /// Runs the server while the body runs.
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

    /// Fills the disk except for this many bytes.
    func fill(leaving bytes: Int) throws {
        var status = statvfs()
        guard statvfs(files.string, &status) == 0 else { throw Errno(rawValue: errno) }
        let free = Int(status.f_bavail) * Int(status.f_frsize)
        try Data(count: free - bytes).write(to: URL(filePath: filler.string))
    }

    /// Frees the space again.
    func empty() throws { try FileManager.default.removeItem(atPath: filler.string) }

    private var filler: FilePath { files.removingLastComponent().appending("filler") }
}
