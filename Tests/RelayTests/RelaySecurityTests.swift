import FoundationEssentials
import MessageBus
import Messages
import NATS
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Relays and real servers with TLS and users, whose permissions are those of docs/relay.md.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelaySecurityTests {
    private static let limit = Duration.seconds(100)
    /// The example from NATS' documentation: a user, and the seed that proves its identity.
    private static let nkey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
    private static let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"

    /// A server with the users of docs/relay.md, and the files that relays need.
    private struct World: Sendable {
        let directory: FilePath
        let servers: NATSServers

        init(_ kind: NATSServers.Kind, in directory: FilePath) async throws {
            self.directory = directory
            let (certificate, key) = try await RelaySecurityTests.makeCertificate(in: directory)
            for (name, text) in [("lab", "secret"), ("wrong", "guess"), ("seed", RelaySecurityTests.seed)] {
                let file = directory.appending(name).string
                try text.write(toFile: file, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            }
            let security = """
                tls { cert_file: "\(certificate)", key_file: "\(key)" }
                authorization { users: [
                  { user: lab, password: secret, permissions: { publish: [ "holdfast.lab.>", "$JS.API.STREAM.INFO.holdfast", \
                "$JS.API.STREAM.MSG.GET.holdfast" ], subscribe: [ "_INBOX.>" ] } }
                  { nkey: \(RelaySecurityTests.nkey), permissions: { publish: [ "$JS.API.>", "$JS.ACK.>" ], subscribe: [ "_INBOX.>" ] } }
                  { user: boss, password: boss }
                ] }
                """
            servers = try NATSServers(kind, count: 1, security: security, isEncrypted: true, in: directory)
        }

        /// Makes the stream, which a site's user is not permitted to do.
        func makeStream() async throws {
            var settings = NATSSettings(servers: servers.addresses, name: "test")
            (settings.user, settings.password) = ("boss", "boss")
            settings.authorities = directory.appending("ca.pem").string
            try await NATSConnection(settings).makeStream(within: RelaySecurityTests.limit)
        }

        func relay(_ name: String, _ arguments: [String]) throws -> Relay {
            try RelaySecurityTests.relay(name, arguments, in: directory)
        }

        func file(_ name: String) -> String { directory.appending(name).string }

        /// The options of a site's relay.
        func sending(_ events: String, site: String, password: String = "lab", trusting: Bool = true) -> [String] {
            servers.options("to") + ["--subscribe", events, "--site", site, "--replicas", "1"]
                + ["--nats-user", "lab", "--nats-password-file", file(password)]
                + (trusting ? ["--nats-ca", file("ca.pem")] : [])
        }
    }

    /// - Returns: the files of a self-signed certificate and of its key.
    private static func makeCertificate(in directory: FilePath) async throws -> (certificate: String, key: String) {
        let (certificate, key) = (directory.appending("ca.pem").string, directory.appending("key.pem").string)
        try await Tool.output(
            of: "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=n0", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ])
        return (certificate, key)
    }

    /// A relay, and a client of it.
    private typealias Relay = (program: RevivedProgram, client: RequestClient)

    private static func relay(_ name: String, _ arguments: [String], in directory: FilePath) throws -> Relay {
        let ends = try FreePort.endpoints(2)
        let program = try RevivedProgram("relay", at: ends[...], arguments + ["--data", name], in: directory)
        let client = try RequestClient(context: Context(), thread: SocketThread(name: "test"), endpoint: ends[1])
        return (program, client)
    }

    private static func streams(at client: RequestClient) async throws -> [StreamDescription] {
        try await client.send(StreamsList(), timeout: .seconds(60)).streams
    }

    /// Waits until a program's health contains a text.
    private static func hears(_ text: String, from client: RequestClient) async throws {
        var reasons: [String] = []
        do {
            try await eventually("health to say \(text)", within: limit) {
                reasons = try await client.send(ServiceHealth(), timeout: .seconds(60)).reasons
                return reasons.contains { $0.contains(text) }
            }
        } catch let failure as TestFailure {
            throw TestFailure("\(failure), but \(reasons)")
        }
    }

    @Test(arguments: NATSServers.Kind.allCases)
    func eachUserDoesWhatItMay(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let world = try await World(kind, in: directory)
            let ends = try FreePort.endpoints(2)
            let publisher = try RevivedProgram(
                "sensor-publisher", at: ends[...], ["--signal", "sine", "--device", "wrist"], in: directory)
            let site = try world.relay("site", world.sending(ends[0], site: "lab"))
            let stranger = try world.relay("stranger", world.sending(ends[0], site: "ward"))
            let guesser = try world.relay("guesser", world.sending(ends[0], site: "lab", password: "wrong"))
            let doubter = try world.relay("doubter", world.sending(ends[0], site: "lab", trusting: false))
            let centre = try world.relay(
                "centre",
                world.servers.options("from") + ["--nats-ca", world.file("ca.pem")]
                    + ["--nats-nkey", Self.nkey, "--nats-seed", world.file("seed")])
            try await RevivedProgram.run(world.servers.servers + [publisher]) {
                try await world.makeStream()
                try await RevivedProgram.run([centre.program, stranger.program, guesser.program, doubter.program]) {
                    // A relay with another site's user, which servers do not answer; with a wrong password; without trust in the
                    // server's certificate.
                    try await Self.hears("Timeout", from: stranger.client)
                    try await Self.hears("Authorization Violation", from: guesser.client)
                    try await Self.hears("self-signed certificate", from: doubter.client)
                    #expect(try await Self.streams(at: centre.client).isEmpty)
                    try await RevivedProgram.run([site.program]) {
                        try await eventually("samples at the centre", within: Self.limit) {
                            try await Self.streams(at: centre.client).contains { $0.nextSequence > 100 }
                        }
                        #expect(try await centre.client.send(ServiceHealth(), timeout: .seconds(60)).reasons.isEmpty)
                    }
                }
            }
        }
    }

    /// Runs a publisher, a relay at a site and one at the centre, until samples arrive.
    /// - Parameters:
    ///   - options: how both relays authenticate.
    ///   - stranger: the options of a relay that cannot authenticate.
    private static func carry(
        over servers: NATSServers, _ options: [String], refusing stranger: [String] = [],
        makingStream settings: NATSSettings, in directory: FilePath
    ) async throws {
        let ends = try FreePort.endpoints(2)
        let publisher = try RevivedProgram(
            "sensor-publisher", at: ends[...], ["--signal", "sine", "--device", "wrist"], in: directory)
        let site = try relay(
            "site", servers.options("to") + ["--subscribe", ends[0], "--site", "lab"] + options, in: directory)
        let centre = try relay("centre", servers.options("from") + options, in: directory)
        let stranger = try relay("stranger", servers.options("from") + stranger, in: directory)
        try await RevivedProgram.run(servers.servers) {
            try await NATSConnection(settings).makeStream(within: limit)
            try await RevivedProgram.run([publisher, site.program, centre.program, stranger.program]) {
                try await eventually("samples at the centre", within: limit) {
                    try await streams(at: centre.client).contains { $0.nextSequence > 100 }
                }
                try await hears("nothing arrives from the NATS servers", from: stranger.client)
            }
        }
    }

    /// A server may refuse a relay for a while, such as before its users are configured correctly. libnats then gives the
    /// connection up.
    @Test func aRelayThatIsRefusedComesBack() async throws {
        try await withTemporaryDirectory { directory in
            let secret = directory.appending("secret").string
            try "secret".write(toFile: secret, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
            func permit(_ password: String) throws {
                try "authorization { users: [ { user: lab, password: \(password) }, { user: boss, password: boss } ] }"
                    .write(toFile: directory.appending("users.conf").string, atomically: true, encoding: .utf8)
            }
            try permit("another")
            let servers = try NATSServers(.current, count: 1, security: #"include "users.conf""#, in: directory)
            let user = ["--nats-user", "lab", "--nats-password-file", secret]
            let ends = try FreePort.endpoints(2)
            let publisher = try RevivedProgram(
                "sensor-publisher", at: ends[...], ["--signal", "sine", "--device", "wrist"], in: directory)
            let site = try Self.relay(
                "site", servers.options("to") + ["--subscribe", ends[0], "--site", "lab"] + user, in: directory)
            let centre = try Self.relay("centre", servers.options("from") + user, in: directory)
            var settings = NATSSettings(servers: servers.addresses, name: "test")
            (settings.user, settings.password) = ("boss", "boss")
            try await RevivedProgram.run(servers.servers) {
                try await NATSConnection(settings).makeStream(within: Self.limit)
                try await RevivedProgram.run([publisher, site.program, centre.program]) {
                    for _ in 0..<2 {
                        for client in [site.client, centre.client] {
                            try await Self.hears("Authorization Violation", from: client)
                        }
                        let before = try await Self.streams(at: centre.client).map(\.nextSequence).max() ?? 0
                        try permit("secret")
                        try await servers.servers[0].kill()
                        try await eventually("samples at the centre", within: Self.limit) {
                            try await Self.streams(at: centre.client).contains { $0.nextSequence > before + 100 }
                        }
                        try permit("another")
                        try await servers.servers[0].kill()
                    }
                }
            }
        }
    }

    @Test(arguments: NATSServers.Kind.allCases)
    func credentialsOfAnOperatorAreTaken(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let make = FilePath(#filePath).removingLastComponent().appending("Credentials/make")
            try await Tool.output(of: "python3", [make.string, directory.string])
            let servers = try NATSServers(kind, count: 1, security: #"include "operator.conf""#, in: directory)
            let credentials = directory.appending("user.creds").string
            var settings = NATSSettings(servers: servers.addresses, name: "test")
            settings.credentials = credentials
            try await Self.carry(
                over: servers, ["--nats-credentials", credentials],
                makingStream: settings, in: directory)
        }
    }

    /// The server accepts any client with a certificate that it trusts.
    @Test(arguments: NATSServers.Kind.allCases)
    func certificatesProveWhoRelaysAre(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let (certificate, key) = try await Self.makeCertificate(in: directory)
            let security =
                #"tls { cert_file: "\#(certificate)", key_file: "\#(key)", ca_file: "\#(certificate)", verify: true }"#
            let servers = try NATSServers(kind, count: 1, security: security, isEncrypted: true, in: directory)
            var settings = NATSSettings(servers: servers.addresses, name: "test")
            (settings.authorities, settings.certificate, settings.key) = (certificate, certificate, key)
            let trust = ["--nats-ca", certificate]
            try await Self.carry(
                over: servers, trust + ["--nats-certificate", certificate, "--nats-key", key],
                refusing: trust, makingStream: settings, in: directory)
        }
    }
}
