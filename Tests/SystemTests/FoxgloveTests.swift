import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Viewers that use Foxglove's protocol, with real programs.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
struct FoxgloveTests {
    private static let script = DocumentationPage.root.appending("Tests/SystemTests/Clients/view_foxglove.py")

    private struct Seen: Decodable {
        var info: [String]
        var channel: [String]
        var service: [String]?
        var services: [String]?
        var values: [[Double]]?
        var pairs: Int?
        var parameters: [String: JSONValue]?
        var started: [String: JSONValue]?
        var annotated: [String: JSONValue]?
        var stopped: [String: JSONValue]?
        var failure: [String: JSONValue]?
        var refusal: String?
    }

    /// The messages that a viewer received.
    private static func view(_ url: String, _ subprotocol: String, _ mode: String) async throws -> Seen {
        let output = try await Python.run(script, arguments: [url, subprotocol, mode])
        return try WireCoding.decode(Seen.self, from: Array(output.utf8))
    }

    /// Publishes an accelerometer with known samples: (n, -n/2, 1).
    private static func withKnownStream(
        _ options: [String] = [], _ body: @escaping @Sendable (Rig, ConsoleTests.Console) async throws -> Void
    ) async throws {
        // The interpreter may have to be installed first, while the stream is finite.
        _ = try await Python.interpreter()
        let rows = (0..<6_000).map { "\(Double($0) / 100),\($0),\(-Double($0) / 2),1" }
        try await Rig.run(
            publishing: [
                "--replay", "known.csv", "--device", "left-wrist", "--stream", "accelerometer", "--unit", "g",
            ], files: ["known.csv": "t,x,y,z\n" + rows.joined(separator: "\n") + "\n"]
        ) { rig in
            try await ConsoleTests.Console.run(options, besides: rig) { try await body(rig, $0) }
        }
    }

    private static func expectKnown(_ seen: Seen) throws {
        let values = try #require(seen.values)
        #expect(values.count >= 50 && (seen.pairs ?? 0) >= 50)
        for (one, next) in zip(values, values.dropFirst()) {
            #expect(next[1] == one[1] + 1 && next[2] == -next[1] / 2 && next[3] == 1)
            #expect(abs(next[0] - one[0] - 10_000_000) < 1_000_000)
        }
    }

    @Test(arguments: ["foxglove.sdk.v1", "foxglove.websocket.v1"])
    func aViewerSeesWhatIsPublishedAndRecordsIt(subprotocol: String) async throws {
        try await Self.withKnownStream { rig, console in
            let seen = try await Self.view("ws://127.0.0.1:\(console.port)/foxglove", subprotocol, "record")
            try Self.expectKnown(seen)
            #expect(seen.services == ["/recording/annotate", "/recording/start", "/recording/stop"])
            #expect(seen.parameters?["recording.running"] == .boolean(false))
            #expect(seen.started?["session"] == .string("from-foxglove"))
            #expect(seen.annotated?["session"] == .string("from-foxglove"))
            #expect(seen.stopped?["failure"] == nil)
            #expect(seen.failure?["failure"] == .string("no session runs: name one as \"session\""))
            let result = try await rig.recordings.send(
                RecordingResultRequest(session: "from-foxglove"), timeout: .seconds(60))
            #expect(result.report.isWhole)
            #expect(result.report.annotations?.map(\.label) == ["turn", "again"])
            let health = try await console.answer("GET", "/api/state")
            #expect(health.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func whatIsSaidHasTheShapeOfTheReference() async throws {
        let reference = try await Self.view("-", "foxglove.sdk.v1", "reference")
        try await Self.withKnownStream { _, console in
            let seen = try await Self.view("ws://127.0.0.1:\(console.port)/foxglove", "foxglove.sdk.v1", "record")
            #expect(seen.info == reference.info && seen.channel == reference.channel)
            #expect(Set(seen.service ?? []).isSuperset(of: reference.service ?? ["none"]))
        }
    }

    @Test func aViewerThatMayListenChangesNothing() async throws {
        try await Self.withKnownStream(["--login"]) { rig, console in
            let links = console.program.standardOutput.split(separator: "\n").compactMap {
                $0.firstMatch(of: #/token=([0-9a-f]+) /#).map { String($0.output.1) }
            }
            let url = "ws://127.0.0.1:\(console.port)/foxglove?token=\(try #require(links.last))"
            let seen = try await Self.view(url, "foxglove.sdk.v1", "listen")
            try Self.expectKnown(seen)
            #expect(seen.services == [] && seen.refusal?.contains("command") == true)
            let list = try await rig.recordings.send(RecordingList(), timeout: .seconds(60))
            #expect(list.recordings.isEmpty)
        }
    }

    private static let upgrade = [
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "foxglove.sdk.v1",
    ]

    @Test func otherPagesStrangersAndOtherProtocolsAreRefused() async throws {
        try await ConsoleTests.Console.run(["--login", "--allow-origin", "https://viewer.example"]) { console in
            let own = "http://127.0.0.1:\(console.port)"
            for (headers, query, status) in [
                (["Origin": "http://evil.example"], "", 403), (["Origin": "null"], "", 403),
                (["Host": "evil.example"], "", 403), (["Cookie": ""], "", 401),
                (["Cookie": ""], "?token=0123456789abcdef", 401),
                (["Cookie": "", "Origin": "https://viewer.example"], "", 401),
                (["Sec-WebSocket-Protocol": "chat"], "", 400), (["Upgrade": "h2c"], "", 400),
                (["Sec-WebSocket-Version": "8"], "", 400), (["Origin": own], "", 101),
                (["Origin": "https://viewer.example"], "", 101), (["Cookie": ""], "?token=\(console.token)", 101),
            ] {
                let client = try WebClient(port: console.port)
                let all = Self.upgrade.merging(headers) { $1 }
                try await client.send(console.request("GET", "/foxglove\(query)", all, body: nil, version: "1.1"))
                let answer = try await client.text("an answer") { $0.contains("\r\n\r\n") }
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(headers) \(query): \(answer)")
                if status == 101 {
                    #expect(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
                    #expect(answer.contains("Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n"))
                }
            }
            // A page of another origin cannot open the console's pages, whatever its request says.
            let other = try await console.answer("GET", "/api/state", ["Origin": "https://viewer.example"])
            #expect(other.hasPrefix("HTTP/1.1 403 "))
            let plain = try await console.answer("GET", "/foxglove")
            #expect(plain.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test func whatIsNoWebSocketEndsAndOthersGoOn() async throws {
        try await Self.withKnownStream { _, console in
            for bytes in ["\u{1}\u{1}plain", String(repeating: "x", count: 300_000)] {
                let client = try WebClient(port: console.port)
                try await client.send(
                    console.request("GET", "/foxglove", Self.upgrade, body: nil, version: "1.1") + bytes)
                #expect(try await client.answer()?.contains("101") == true)
            }
            let seen = try await Self.view("ws://127.0.0.1:\(console.port)/foxglove", "foxglove.sdk.v1", "look")
            try Self.expectKnown(seen)
        }
    }
}
