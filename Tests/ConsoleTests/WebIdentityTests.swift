import Files
import Glibc
import Messages
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import WebIdentity
import WebServer

/// A server's certificate, and its demands on TLS clients.
@Suite(.timeLimit(.minutes(2)))
struct WebIdentityTests {
    private static let users = ["listen", "delete"]

    private static func identity(
        _ directory: FilePath, host: String = "*", names: [String] = [], at date: WallTime = .now
    ) throws -> WebIdentity {
        try WebIdentity(in: directory.appending("identity"), users: users, host: host, names: names, at: date)
    }

    private static func write(_ text: String, _ directory: FilePath, _ name: String) throws {
        let identity = Directory(directory.appending("identity"))
        try identity.create()
        try identity.replace(name, with: Array(text.utf8))
        chmod(identity.path.appending(name).string, 0o600)
    }

    @Test func secretsThatEverybodyCanReadAreRefused() throws {
        try withTemporaryDirectory { directory in
            _ = try Self.identity(directory)
            for name in ["private-key.pem", "tokens.json"] {
                let path = directory.appending("identity").appending(name).string
                chmod(path, 0o644)
                #expect(throws: ServiceError.self) { try Self.identity(directory) }
                chmod(path, 0o600)
            }
            _ = try Self.identity(directory)
        }
    }

    @Test func itIsMadeOnceAndStaysTheSame() throws {
        try withTemporaryDirectory { directory in
            let made = try Self.identity(directory)
            let read = try Self.identity(directory)
            #expect(made.isNew && !read.isNew)
            #expect(made.fingerprint == read.fingerprint && made.fingerprint.utf8.count == 95)
            #expect(made.tokens == read.tokens && Set(made.tokens.keys) == Set(Self.users))
            #expect(Set(made.tokens.values).count == 2 && made.tokens.values.allSatisfy { $0.utf8.count == 32 })
            for name in ["private-key.pem", "tokens.json"] {
                let path = directory.appending("identity").appending(name)
                #expect(try path.stat().permissions.rawValue & 0o777 == 0o600, "\(name)")
            }
            #expect(try directory.appending("identity").stat().permissions.rawValue & 0o777 == 0o700)
        }
    }

    @Test func itIsForThisMachineAndTheNamesGiven() throws {
        try withTemporaryDirectory { directory in
            let identity = try Self.identity(directory, host: "192.0.2.7", names: ["lab.example", "*.rooms.example"])
            for name in ["localhost", "lab.example", "a.rooms.example", WebIdentity.machineName] {
                #expect(identity.isFor(name), "\(name)")
            }
            for name in ["evil.example", "lab.example.evil.example", "rooms.example", "x.lab.example", ""] {
                #expect(!identity.isFor(name), "\(name)")
            }
        }
    }

    @Test func openSSLFindsNothingWrongWithIt() async throws {
        try await withTemporaryDirectory { directory in
            let identity = try Self.identity(directory, host: "192.0.2.7")
            let path = directory.appending("identity").appending("certificate.pem").string
            let text = try await Tool.output(
                of: "openssl", ["x509", "-in", path, "-noout", "-text", "-fingerprint", "-sha256"])
            #expect(text.contains("sha256 Fingerprint=\(identity.fingerprint)"))
            for part in [
                "DNS:localhost", "IP Address:127.0.0.1", "IP Address:192.0.2.7", "CA:FALSE",
                "TLS Web Server Authentication", "Version: 3", "ecdsa-with-SHA256",
            ] {
                #expect(text.contains(part), "\(part) in \(text)")
            }
            try await Tool.output(
                of: "openssl",
                ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", "192.0.2.7", "-CAfile", path, path])
        }
    }

    @Test func anExpiredCertificateIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let made = try Self.identity(directory)
            #expect(made.notice == nil)
            let later = WallTime(seconds: WallTime.now.seconds + 900 * 86_400)
            #expect(try Self.identity(directory, at: later).notice?.contains("not valid now") == true)
        }
    }

    @Test func whatCannotBeUsedIsExplained() async throws {
        try await withTemporaryDirectory { directory in
            _ = try Self.identity(directory)
            let path = directory.appending("identity")
            let files = Directory(path)
            let certificate = String(decoding: try files.read("certificate.pem"), as: UTF8.self)
            let key = String(decoding: try files.read("private-key.pem"), as: UTF8.self)
            let tokens = String(decoding: try files.read("tokens.json"), as: UTF8.self)
            let other = try await Tool.output(
                of: "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
            let locked = try await Tool.output(
                of: "openssl",
                ["pkey", "-in", path.appending("private-key.pem").string, "-aes128", "-passout", "pass:x"])
            func refusal(
                _ certificate: String?, _ key: String?, _ tokens: String
            ) throws -> String? {
                for (name, text) in [
                    ("certificate.pem", certificate), ("private-key.pem", key), ("tokens.json", tokens),
                ] {
                    if let text {
                        try Self.write(text, directory, name)
                    } else {
                        try Directory.removeFile(path.appending(name))
                    }
                }
                do {
                    _ = try Self.identity(directory)
                    return nil
                } catch let error as ServiceError {
                    return "\(error)"
                }
            }
            #expect(try refusal(certificate, key, tokens) == nil)
            #expect(
                try refusal(certificate, other, tokens)?.contains("the private key is not the certificate's") == true)
            #expect(try refusal(certificate, locked, tokens)?.contains("without a pass phrase") == true)
            #expect(try refusal("nothing", key, tokens)?.contains("the certificate can't be read") == true)
            #expect(try refusal(certificate, nil, tokens)?.contains("only one of") == true)
            for wrong in [
                "", "[]", "{}", #"{"listen":"short"}"#, #"{"root":"0123456789abcdef"}"#,
                #"{"listen":"0123456789abcde;"}"#, #"{"listen":"0123456789abcdef","delete":"0123456789abcdef"}"#,
            ] {
                #expect(try refusal(certificate, key, wrong)?.contains("tokens.json must look") == true, "\(wrong)")
            }
            #expect(try refusal(certificate, key, #"{"listen":"a-token_of-our-own"}"#) == nil)
        }
    }

    // MARK: Over TLS

    /// Serves "hello" over TLS with the certificate in a file while the body runs.
    private static func serving(
        limits: WebLimits = .browsers.lasting(.seconds(50)), _ body: (UInt16, FilePath) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let identity = try identity(directory)
            let server = try WebServer(port: 0, limits: limits, credentials: identity.credentials)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await server.run(admitting: { _ in nil }) { _ in
                        WebResponse(body: Array(repeating: UInt8(ascii: "h"), count: 200_000))
                    }
                }
                try await body(server.port, directory.appending("identity").appending("certificate.pem"))
                group.cancelAll()
                do { try await group.next() } catch is CancellationError {}
            }
        }
    }

    /// The output of openssl's client.
    private static func client(_ port: UInt16, _ certificate: FilePath, _ options: String) async throws -> Tool.Answer {
        let command = """
            printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' | openssl s_client -connect 127.0.0.1:\(port) -ign_eof \
            -servername localhost -CAfile '\(certificate)' -verify_return_error -verify_hostname localhost \(options) 2>&1
            """
        return try await Tool.run("sh", ["-c", command])
    }

    @Test(arguments: [
        "-tls1_3", "-tls1_2", "-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384",
        "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305", "-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256",
    ])
    func whatIsSecureIsSpoken(options: String) async throws {
        try await Self.serving { port, certificate in
            let answer = try await Self.client(port, certificate, options)
            #expect(
                answer.output.contains("Verification: OK") && answer.output.contains("HTTP/1.1 200 OK"), "\(answer)")
            #expect(answer.output.contains(String(repeating: "h", count: 200_000)))
        }
    }

    @Test(arguments: [
        "-tls1_1 -cipher DEFAULT@SECLEVEL=0", "-tls1 -cipher DEFAULT@SECLEVEL=0",
        "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA256", "-tls1_2 -cipher ECDHE-ECDSA-AES256-SHA",
        "-tls1_2 -cipher AES256-GCM-SHA384",
        "-tls1_2 -cipher DHE-RSA-AES256-GCM-SHA384", "-tls1_2 -cipher NULL@SECLEVEL=0",
        "-tls1_2 -cipher aNULL@SECLEVEL=0",
        "-tls1_2 -cipher ECDHE-ECDSA-AES128-CCM",
    ])
    func whatIsNotSecureIsRefused(options: String) async throws {
        try await Self.serving { port, certificate in
            let answer = try await Self.client(port, certificate, options)
            #expect(!answer.output.contains("HTTP/1.1"), "\(answer.output)")
            #expect(
                answer.output.contains("alert") || answer.output.contains("no peer certificate"), "\(answer.output)")
        }
    }

    /// What TLS scanners check besides versions and ciphers.
    @Test func whatMadeTLSWeakIsNotOffered() async throws {
        try await Self.serving { port, certificate in
            let old = try await Self.client(port, certificate, "-tls1_2")
            #expect(old.output.contains("Compression: NONE"), "\(old)")
            #expect(old.output.contains("Secure Renegotiation IS supported"))
            #expect(old.output.firstMatch(of: #/Server Temp Key: (X25519|ECDH|X448)/#) != nil)
            #expect(old.output.contains("Extended master secret: yes"))
            // A client must not be able to make the server compute handshakes again and again on one connection.
            let command = """
                (printf 'R\\n'; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n') | \
                openssl s_client -connect 127.0.0.1:\(port) -tls1_2 -CAfile '\(certificate)' 2>&1
                """
            let again = try await Tool.run("sh", ["-c", command])
            #expect(again.output.contains("RENEGOTIATING") && !again.output.contains("HTTP/1.1 200"), "\(again)")
            // The server chooses the cipher.
            var chosen: Set<String> = []
            for order in [
                "AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384", "AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
            ] {
                let answer = try await Self.client(port, certificate, "-tls1_2 -cipher ECDHE-ECDSA-\(order)")
                let cipher = answer.output.firstMatch(of: #/New, TLSv1.2, Cipher is (\S+)/#)
                chosen.insert(String(try #require(cipher).output.1))
            }
            #expect(chosen == ["ECDHE-ECDSA-AES256-GCM-SHA384"])
        }
    }

    @Test func anotherCertificateIsNoticedByTheClient() async throws {
        try await Self.serving { port, _ in
            try await Self.serving { _, other in
                let answer = try await Self.client(port, other, "")
                #expect(!answer.output.contains("HTTP/1.1"))
            }
        }
    }

    @Test func plainHTTPAndSlowHandshakesEnd() async throws {
        try await Self.serving(limits: .browsers.lasting(.milliseconds(300))) { port, _ in
            let plain = try await WebClient.answer("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", port: port)
            #expect(plain?.contains("HTTP/1.1 200") == false)
            // The beginning of a handshake, without its rest.
            let slow = try WebClient(port: port)
            try await slow.send("\u{16}\u{3}\u{1}\u{2}")
            #expect(try await slow.answer() != nil)
        }
    }
}
