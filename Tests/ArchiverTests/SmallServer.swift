import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// An nginx that keeps files on a small disk of its own, a tmpfs(5) in a mount namespace that nobody else sees.
struct SmallServer: Sendable {
    /// Where files go by PUT.
    let address: String
    /// Where they are then, as this process reaches it while the server runs (proc_pid_root(5)).
    let files: FilePath

    /// Whether this machine lets its users have a mount namespace.
    static let isPossible = system("unshare --user --map-root-user --mount true 2>/dev/null") == 0

    /// Runs it as long as the body runs.
    static func run(megabytes: Int, _ body: (SmallServer) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let disk = directory.appending("disk")
            try FileManager.default.createDirectory(atPath: disk.string, withIntermediateDirectories: true)
            // A free port may be taken by somebody else before nginx has it.
            for attempt in 1...5 {
                let port = try FreePort.next()
                let configuration = directory.appending("nginx.conf").string
                try Data(text(port: port, disk, directory).utf8).write(to: URL(filePath: configuration))
                let script =
                    #"mount -t tmpfs -o size="$1"m none "$2" && mkdir "$2/archives" && shift 2 && exec "$0" "$@""#
                let isStarted = try await ProgramUnderTest.run(
                    executable: "/usr/bin/env",
                    arguments: [
                        "unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script,
                        ReceiverPrograms.nginx.string, "\(megabytes)", disk.string, "-p", directory.string, "-c",
                        configuration, "-e", "stderr",
                    ]
                ) { program in
                    do {
                        // Said once it listens.
                        try await program.complaint(containing: "RLIMIT_NOFILE")
                    } catch {
                        if attempt == 5 { throw error }
                        return false
                    }
                    guard let process = program.processIdentifier else { throw TestFailure("nginx has ended") }
                    let root = FilePath("/proc/\(process)/root").appending(disk.removingRoot().components)
                    try await body(
                        SmallServer(
                            address: "http://127.0.0.1:\(port)/archives/", files: root.appending("archives")))
                    return true
                }
                if isStarted { return }
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

    /// One process: as root in a namespace of users nginx could not become the user of its workers.
    private static func text(port: UInt16, _ disk: FilePath, _ directory: FilePath) -> String {
        """
        daemon off;
        master_process off;
        user root;
        pid \(directory)/pid;
        error_log stderr notice;
        events { worker_connections 64; }
        http {
            access_log off;
            client_body_temp_path \(disk)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            client_max_body_size 0;
            server {
                listen 127.0.0.1:\(port);
                root \(disk);
                location /archives/ { dav_methods PUT; }
            }
        }
        """
    }
}
