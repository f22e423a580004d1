import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The real publisher and a broker: who may read messages, and when they are acknowledged.
@Suite(.timeLimit(.minutes(2)))
struct MQTTTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    /// Runs the publisher as long as a closure runs.
    private func publishing(
        _ arguments: [String], _ body: (ProgramUnderTest, RequestClient) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run("sensor-publisher", arguments: ProgramUnderTest.anyPorts + arguments) {
            program in
            let ready = try await program.ready()
            try await body(program, RequestClient(context: context, thread: thread, endpoint: ready.reply))
        }
    }

    private func numbered(_ range: Range<Int>, of device: String = "m5") -> [UInt8] {
        let rows = range.map { "[\(Double($0) / 50),\($0)]" }.joined(separator: ",")
        return Array(
            #"{"device":"\#(device)","stream":"value","epoch":"e","first":\#(range.lowerBound),"samples":[\#(rows)]}"#
                .utf8)
    }

    private func next(_ client: RequestClient, _ name: String = "m5/value") async throws -> Int? {
        try await client.send(StreamsList(), timeout: .seconds(50)).streams
            .first { $0.name.description == name }?.nextSequence
    }

    private func reasons(_ client: RequestClient) async throws -> [String] {
        try await client.send(ServiceHealth(), timeout: .seconds(50)).reasons
    }

    // MARK: A test as the broker

    @Test func messagesAreAcknowledgedWhenTheirSamplesArePublished() async throws {
        let listener = try MQTTListener()
        let arguments = [
            "--mqtt", "mqtt://127.0.0.1:\(listener.port)", "--topic", "a/+", "--topic", "b", "--mqtt-client-id", "x",
        ]
        try await publishing(arguments) { program, client in
            let peer = try await listener.accept()
            #expect(try await peer.next() == .connect(client: "x", isClean: false), "the session persists")
            try await peer.send(.connack(code: 0))
            for (identifier, topic) in [(1, "a/+"), (2, "b")] {
                #expect(try await peer.next() == .subscribe(UInt16(identifier), topics: [topic]))
                try await peer.send(.suback(UInt16(identifier), granted: [1]))
            }
            try await peer.send(.publish(topic: "b", payload: numbered(0..<10), identifier: 1))
            #expect(try await peer.next() == .puback(1))
            #expect(try await next(client) == 10)
            // Samples that wait for earlier ones are not published, and later messages are not acknowledged before them.
            try await peer.send(.publish(topic: "b", payload: numbered(20..<30), identifier: 3))
            try await peer.send(.publish(topic: "b", payload: Array("garbage".utf8), identifier: 4))
            try await eventually("garbage") {
                try await reasons(client).contains { $0.contains("1 messages were not taken, most recently from ") }
            }
            #expect(await peer.waiting() == [])
            try await peer.send(.publish(topic: "b", payload: numbered(10..<20), identifier: 2))
            var acknowledged: Set<MQTTPacket> = []
            for _ in 0..<3 { acknowledged.insert(try await peer.next()) }
            #expect(acknowledged == [.puback(2), .puback(3), .puback(4)])
            #expect(try await next(client) == 30)
            // A message that still waits when the program stops is not acknowledged, so the broker sends it again.
            try await peer.send(.publish(topic: "b", payload: numbered(40..<50), identifier: 5))
            try await peer.send(.publish(topic: "b", payload: Array("more garbage".utf8), identifier: 6))
            try await eventually("more garbage") {
                try await reasons(client).contains { $0.contains("messages were not taken") }
            }
            try program.send(.terminate)
            let end = try await program.end()
            #expect(end == .exited(0))
            #expect(await !peer.waiting().contains(.puback(5)))
        }
    }

    /// A run begins with the first message taken: an earlier one would be too late, however long it takes to read.
    @Test func messagesAreTakenInTheOrderInWhichTheyWereSent() async throws {
        let listener = try MQTTListener()
        try await publishing(["--mqtt", "mqtt://127.0.0.1:\(listener.port)"]) { _, client in
            let peer = try await listener.accept()
            _ = try await peer.next()
            try await peer.send(.connack(code: 0))
            #expect(try await peer.next() == .subscribe(1, topics: ["sensor-logger"]))
            try await peer.send(.suback(1, granted: [1]))
            let devices = (0..<16).map { "m\($0)" }
            let payloads = devices.flatMap { device in
                [0..<4_000, 4_000..<4_001].map { numbered($0, of: device) }
            }
            let identifiers = 1...UInt16(payloads.count)
            // One right after the other, so that they wait together.
            for (identifier, payload) in zip(identifiers, payloads) {
                try await peer.send(.publish(topic: "t", payload: payload, identifier: identifier))
            }
            var acknowledged: Set<MQTTPacket> = []
            for _ in identifiers { acknowledged.insert(try await peer.next()) }
            #expect(acknowledged == Set(identifiers.map { .puback($0) }))
            let streams = try await client.send(StreamsList(), timeout: .seconds(50)).streams
            #expect(Set(streams.map(\.device)) == Set(devices))
            for stream in streams {
                let replay = SamplesReplay(
                    device: stream.device, stream: stream.stream, epoch: stream.epoch, from: 0, count: 1)
                #expect(try await client.send(replay, timeout: .seconds(50)).count == 1, "\(stream.name)")
            }
        }
    }

    @Test func aMessageThatCameTwiceIsIgnored() async throws {
        let listener = try MQTTListener()
        try await publishing(["--mqtt", "mqtt://127.0.0.1:\(listener.port)"]) { _, client in
            for round in 0..<2 {
                let peer = try await listener.accept()
                _ = try await peer.next()
                try await peer.send(.connack(code: 0))
                #expect(try await peer.next() == .subscribe(1, topics: ["sensor-logger"]))
                try await peer.send(.suback(1, granted: [1]))
                for range in [0..<10, 10..<20] {
                    try await peer.send(.publish(topic: "t", payload: numbered(range), identifier: 9))
                    #expect(try await peer.next() == .puback(9), "round \(round)")
                }
            }
            #expect(try await next(client) == 20)
        }
    }

    @Test func aBrokerThatRefusesIsNamed() async throws {
        let listener = try MQTTListener()
        try await publishing(["--mqtt", "mqtt://127.0.0.1:\(listener.port)"]) { _, client in
            let peer = try await listener.accept()
            _ = try await peer.next()
            try await peer.send(.connack(code: 0))
            _ = try await peer.next()
            try await peer.send(.suback(1, granted: [128]))
            try await eventually("a reason") {
                try await reasons(client).contains {
                    $0.contains("does not let this program subscribe to sensor-logger")
                }
            }
        }
    }

    // MARK: A real broker

    @Test(.enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing))
    func messagesOfSensorLoggerAreTakenFromABrokerThatComesLate() async throws {
        try await withTemporaryDirectory { directory in
            let port = try FreePort.next()
            try await publishing(["--mqtt", "mqtt://localhost:\(port)"]) { _, client in
                try await eventually("a broker that is away") {
                    try await reasons(client).contains { $0.contains("mqtt://localhost:\(port): Connection refused") }
                }
                try await Mosquitto.run(port: port, in: directory) { _ in
                    try await eventually("a broker") { try await reasons(client).isEmpty }
                    let device = try MQTTPeer(port: port)
                    try await device.send(.connect(client: "phone", isClean: true))
                    #expect(try await device.next() == .connack(code: 0))
                    for number in 0..<3 {
                        let payload =
                            #"{"messageId":\#(number),"sessionId":"s","deviceId":"d1","payload":[{"name":"gyroscope","time":\#(1_698_501_144_401_773_000 + number * 10_000_000),"values":{"x":1,"y":2,"z":3}}]}"#
                        // Like the app: quality of service 0.
                        try await device.send(
                            .publish(topic: "sensor-logger", payload: Array(payload.utf8), identifier: nil))
                    }
                    try await eventually("the samples") { try await next(client, "d1/gyroscope") == 3 }
                }
                try await eventually("a broker that is away again") { try await !reasons(client).isEmpty }
            }
        }
    }

    @Test(.enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing))
    func aWrongPasswordAndAWrongAuthorityAreNamed() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.makeCertificates(in: directory)
            let users = directory.appending("users").string
            try await Tool.output(of: Mosquitto.passwords, ["-b", "-c", users, "publisher", "sesame"])
            for (name, text) in [("right", "sesame\n"), ("wrong", "open\n")] {
                let path = directory.appending(name)
                try text.write(toFile: path.string, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.string)
            }
            let port = try FreePort.next()
            let settings = """
                allow_anonymous false
                password_file \(users)
                cafile \(directory)/authority.pem
                certfile \(directory)/server.pem
                keyfile \(directory)/server.key
                """
            func arguments(password: String, authority: String, host: String = "localhost") -> [String] {
                [
                    "--mqtt", "mqtts://\(host):\(port)", "--mqtt-ca", directory.appending(authority).string,
                    "--mqtt-user", "publisher", "--mqtt-password-file", directory.appending(password).string,
                ]
            }
            try await Mosquitto.run(port: port, in: directory, settings: settings) { broker in
                try await publishing(arguments(password: "wrong", authority: "authority.pem")) { _, client in
                    try await eventually("a wrong password") {
                        try await reasons(client).contains {
                            $0.contains("ot authorised") && $0.contains("mqtt-password-file") && !$0.contains("open\n")
                        }
                    }
                }
                for (authority, host) in [("other.pem", "localhost"), ("authority.pem", "127.0.0.1")] {
                    try await publishing(
                        arguments(password: "right", authority: authority, host: host)
                    ) { program, client in
                        try await eventually("a wrong authority") {
                            try await reasons(client).contains {
                                $0.contains("certificate verify failed") && $0.contains("give --mqtt-ca the authority")
                            }
                        }
                        #expect(!program.standardError.contains("sesame"))
                    }
                }
                try await publishing(arguments(password: "right", authority: "authority.pem")) { _, client in
                    try await broker.complaint(containing: "u'publisher'")
                    try await eventually("no problem") { try await reasons(client).isEmpty }
                }
            }
        }
    }

    /// Makes two authorities, one of which has certified localhost.
    private static func makeCertificates(in directory: FilePath) async throws {
        let common = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        ]
        for name in ["authority", "other"] {
            let path = directory.appending(name).string
            try await Tool.output(
                of: "openssl",
                common + ["-keyout", path + ".key", "-out", path + ".pem", "-subj", "/CN=\(name) of a test"])
        }
        let authority = directory.appending("authority").string
        let server = directory.appending("server").string
        try await Tool.output(
            of: "openssl",
            common + [
                "-CA", authority + ".pem", "-CAkey", authority + ".key", "-keyout", server + ".key", "-out",
                server + ".pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            ])
    }

    @Test func whatCanNotWorkIsRefusedAtTheStart() async throws {
        try await withFile("password", "sesame") { path in
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            for (arguments, problem) in [
                (["--mqtt", "mqtt://192.0.2.1"], "anybody on the way could read along"),
                (["--mqtt", "http://localhost"], "is not a broker"),
                (["--mqtt", "mqtt://user:sesame@localhost"], "is not a broker"),
                (["--mqtt", "mqtt://localhost", "--mqtt-ca", path], "mqtt-ca is for TLS"),
                (["--mqtt", "mqtt://localhost", "--mqtt-password-file", path], "needs mqtt-user"),
                (["--mqtt", "mqtt://localhost", "--mqtt-user", "u", "--mqtt-password-file", path], "chmod 600"),
                (
                    ["--mqtt", "mqtt://localhost", "--mqtt-user", "u", "--mqtt-password-file", "/nowhere"],
                    "can't be read"
                ),
            ] {
                let all = ProgramUnderTest.anyPorts + arguments + ["--check"]
                try await ProgramUnderTest.run("sensor-publisher", arguments: all) { program in
                    let end = try await program.end()
                    #expect(end == .exited(78) || end == .exited(64), "\(arguments)")
                    #expect(program.standardError.contains(problem), "\(program.standardError)")
                    #expect(!program.standardError.contains("sesame"))
                }
            }
        }
    }
}
