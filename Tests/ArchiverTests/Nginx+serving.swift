import FoundationEssentials
import SystemPackage
import TestSupport

extension Nginx {
    /// Runs nginx as long as the body runs.
    /// - Parameters:
    ///   - directory: where its own files are.
    ///   - disk: a disk that it has to itself, for what it is sent.
    ///   - server: chooses ports, and says what is in `server` of nginx.conf then: it is asked again where a port was
    ///     taken by somebody else before nginx had it.
    ///   - body: is given the server that was chosen last.
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
                    // Said once it listens.
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

    /// One process: as root in a namespace of users nginx could not become the user of its workers.
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
