import FoundationEssentials
import SystemPackage
import TestSupport

/// A running nginx that accepts files over HTTP and TLS, and has paths that refuse files in every way that tests need.
struct Nginx: Sendable {
    @TaskLocal static var current: Nginx?

    let port: UInt16
    let securePort: UInt16
    /// The certificate of the authority that signed the server's, in PEM.
    let authority: FilePath
    /// The root directory of the received files.
    let root: FilePath

    /// The server of the running suite.
    static func running() throws -> Nginx {
        guard let current else { throw TestFailure("the suite has no nginx") }
        return current
    }

    /// An address below `/archives/`, for the files of a directory.
    func address(_ path: String, secure: Bool = false) -> String {
        secure ? "https://localhost:\(securePort)\(path)" : "http://127.0.0.1:\(port)\(path)"
    }

    /// Runs nginx while the body runs.
    static func run(_ body: (Nginx) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            try await makeCertificates(in: directory)
            let root = directory.appending("root")
            for name in ["archives", "private", "write-only", "small"] {
                try FileManager.default.createDirectory(
                    atPath: root.appending(name).string, withIntermediateDirectories: true)
            }
            try await serve(in: directory) {
                let nginx = Nginx(
                    port: try FreePort.next(), securePort: try FreePort.next(),
                    authority: directory.appending("authority.pem"), root: root)
                return (nginx, nginx.settings(directory))
            } body: { nginx, _ in
                try await body(nginx)
            }
        }
    }

    /// Makes an authority, and a certificate of it for this machine.
    private static func makeCertificates(in directory: FilePath) async throws {
        let common = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        ]
        let authority = directory.appending("authority").string
        let server = directory.appending("server").string
        try await Tool.output(
            of: "openssl",
            common + ["-keyout", authority + ".key", "-out", authority + ".pem", "-subj", "/CN=authority of a test"])
        try await Tool.output(
            of: "openssl",
            common + [
                "-CA", authority + ".pem", "-CAkey", authority + ".key", "-keyout", server + ".key", "-out",
                server + ".pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            ])
    }

    private func settings(_ directory: FilePath) -> String {
        """
        listen 127.0.0.1:\(port);
        listen 127.0.0.1:\(securePort) ssl;
        ssl_certificate \(directory)/server.pem;
        ssl_certificate_key \(directory)/server.key;
        root \(root);
        location /archives/ { dav_methods PUT; create_full_put_path on; }
        location /private/ {
            if ($http_authorization != "Bearer sesame") { return 401; }
            dav_methods PUT;
        }
        location /write-only/ { dav_methods PUT; limit_except PUT { deny all; } }
        location /small/ { dav_methods PUT; client_max_body_size 1k; }
        location /read-only/ {}
        location /forbidden/ { return 403; }
        location /broken/ { return 500; }
        location /full/ { return 507; }
        location /busy/ { add_header Retry-After 7 always; return 503; }
        location /elsewhere/ { return 307 https://elsewhere.example/?signature=stolen; }
        location /closing/ { return 444; }
        """
    }
}
