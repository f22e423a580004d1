import FoundationEssentials
import SystemPackage
import TestSupport

extension Nginx {
    /// Runs nginx while the body runs.
    /// - Parameters:
    ///   - directory: for nginx's own files.
    ///   - disk: a disk used only for received files.
    ///   - server: chooses ports and returns the `server` section of nginx.conf. It is called again if another program took a
    ///     port before nginx could bind it.
    ///   - body: receives the server that was chosen last.
    static func serve<Server>(
        in directory: FilePath, on disk: SmallDisk? = nil, _ server: () throws -> (server: Server, settings: String),
        body: (Server, ProgramUnderTest) async throws -> Void
    ) async throws {
        let file = directory.appending("nginx.conf").string
        for attempt in 1...5 {
            let (server, settings) = try server()
            try Data(configuration(in: directory, bodies: disk?.path ?? directory, settings).utf8)
                .write(to: URL(filePath: file))
            let isStarted = try await ProgramUnderTest.run(
                executable: ReceiverPrograms.nginx, arguments: ["-p", directory.string, "-c", file, "-e", "stderr"],
                on: disk
            ) { program in
                do {
                    // nginx logs this line once it listens.
                    try await program.complaint(containing: "RLIMIT_NOFILE")
                } catch {
                    if attempt == 5 { throw error }
                    return false
                }
                try await body(server, program)
                return true
            }
            if isStarted { return }
        }
    }

    /// A single process: as root in a user namespace, nginx could not switch to its workers' user.
    private static func configuration(in directory: FilePath, bodies: FilePath, _ settings: String) -> String {
        """
        daemon off;
        master_process off;
        user root;
        pid \(directory)/pid;
        error_log stderr notice;
        events { worker_connections 64; }
        http {
            access_log off;
            client_body_temp_path \(bodies)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            client_max_body_size 0;
            server {
                \(settings)
            }
        }
        """
    }
}
