import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The console with real programs, over real connections.
@Suite(.timeLimit(.minutes(2)))
struct ConsoleTests {
    /// A running console.
    struct Console: Sendable {
        let program: ProgramUnderTest
        let port: UInt16
        /// The token in the console's link; empty if it requires none.
        let token: String

        /// Starts a console, and ends it with the body.
        static func run<Result: Sendable>(
            _ arguments: [String] = [], besides rig: Rig? = nil, _ body: (Console) async throws -> Result
        ) async throws -> Result {
            var places = ["--listen", "0", "--reply", "tcp://127.0.0.1:*"]
            // Endpoints without a program: those at the default ports of this machine are not part of the test.
            for name in ["step-counter", "log-manager", "archiver"] {
                places += ["--\(name)", "ipc:///nowhere/\(name)", "--\(name)-events", "ipc:///nowhere/\(name)-events"]
            }
            places += [
                "--subscribe", rig?.publisherReady.publish ?? "ipc:///nowhere/streams",
                "--sensor-publisher", rig?.publisherReady.reply ?? "ipc:///nowhere/publisher",
                "--recorder-events", rig?.recorderReady.publish ?? "ipc:///nowhere/recordings",
                "--recorder", rig?.recorderReady.reply ?? "ipc:///nowhere/recorder",
            ]
            return try await ProgramUnderTest.run("console", arguments: places + arguments) { program in
                let line = try await program.line("the link") { $0.hasPrefix("console: open ") }
                let link = try #require(line.firstMatch(of: #/https?://[a-z0-9.]+:(\d+)/(?:\?token=([0-9a-f]+))?/#))
                _ = try await program.ready()
                return try await body(
                    Console(
                        program: program, port: UInt16(link.output.1) ?? 0,
                        token: link.output.2.map(String.init) ?? ""))
            }
        }

        /// The answer to a request, header and body.
        func answer(
            _ method: String = "GET", _ path: String, _ headers: [String: String] = [:], body: String? = nil
        ) async throws -> String {
            try #require(try await WebClient.answer(request(method, path, headers, body: body), port: port))
        }

        /// A page that receives events.
        func viewer(_ query: String = "") async throws -> WebClient {
            let client = try WebClient(port: port)
            try await client.send(request("GET", "/api/events\(query)", [:], body: nil))
            return client
        }

        /// A request as sent by a browser that has the link, except for the given headers.
        func request(
            _ method: String, _ path: String, _ headers: [String: String], body: String?, version: String = "1.0"
        ) -> String {
            var all = ["Host": "127.0.0.1:\(port)", "X-Holdfast": "1", "Cookie": "holdfast-\(port)=\(token)"]
            if method == "POST" { all["Content-Length"] = "\(body?.utf8.count ?? 0)" }
            all.merge(headers) { $1 }
            // HTTP/1.0 has no chunks, so texts arrive in one piece.
            let lines = ["\(method) \(path) HTTP/\(version)"] + all.map { "\($0.key): \($0.value)" }
            return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
        }
    }

    private static let sine = [
        "--signal", "sine:amplitude=1,angularFrequency=2", "--device", "left-wrist", "--stream", "gyro", "--rate",
        "200",
    ]

    @Test func aPageSeesSamplesStateAndWhatHappens() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            try await Console.run(besides: rig) { console in
                let viewer = try await console.viewer()
                var text = try await viewer.text("the state and samples") {
                    $0.contains("event: samples\ndata: {\"device\":\"left-wrist\",\"stream\":\"gyro\"")
                        && $0.contains("event: state\ndata: {\"programs\":[")
                }
                #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("Content-Type: text/event-stream\r\n"))
                let start = try await console.answer(
                    "POST", "/api/call/recording.start",
                    body: #"{"session":"seen","streams":["left-wrist/"]}"#)
                #expect(start.hasPrefix("HTTP/1.1 200 OK"))
                text = try await viewer.text("the start, and that it runs", after: text) {
                    $0.contains("event: bus\ndata: {\"topic\":\"recording.v1\",\"event\":{\"change\":\"status\"")
                        && $0.contains("\"session\":\"seen\",\"startDate\"")
                }
                let state = try await console.answer("GET", "/api/state")
                #expect(state.contains(#""session":"seen""#) && state.contains(#""name":"archiver""#))
                _ = try await console.answer("POST", "/api/call/recording.stop", body: #"{"session":"seen"}"#)
                _ = try await viewer.text("the report and the file", after: text) {
                    $0.contains("\"change\":\"report\"") && $0.contains("{\"topic\":\"segment.v1\"")
                }
                try console.program.send(.terminate)
                #expect(try await console.program.end() == .exited(0))
            }
        }
    }

    /// A publisher with many streams, so that a page that does not read soon misses a megabyte.
    @Test func aSlowPageSlowsNobodyAndIsToldWhatItMissed() async throws {
        let streams = (0..<60).map { number in
            #"{"device":"d","stream":"s\#(number)","signal":"sine:amplitude=1,angularFrequency=2","rate":240,"batch":24}"#
        }
        try await Rig.run(
            publishing: ["--config", "streams.json"],
            files: ["streams.json": #"{"streams":[\#(streams.joined(separator: ","))]}"#]
        ) { rig in
            try await Console.run(besides: rig) { console in
                let slow = try await console.viewer()
                let quick = try await console.viewer("?streams=d/s0")
                // Until much more was sent than the kernel and the console buffer for one page.
                let text = try await quick.text("ten seconds of samples") { text in
                    text.matches(of: #/"first":(\d+)/#).contains { Int($0.output.1).map { $0 > 2_400 } ?? false }
                }
                #expect(!text.contains("event: behind") && !text.contains("\"device\":\"d\",\"stream\":\"s1\""))
                let missed = try await slow.text("what was missed") {
                    $0.contains("event: behind\ndata: {\"samples\":")
                }
                #expect(missed.contains("event: samples"))
            }
        }
    }

    @Test func missingSamplesAreToldAndComeLater() async throws {
        // As in GapTests: a second without a reader exceeds the capacity of the sockets.
        let flood = [
            "--signal", "sine:amplitude=1,angularFrequency=2", "--rate", "100000", "--batch", "100", "--packed",
            "--device",
            "phone", "--high-water-mark", "10",
        ]
        try await Rig.run(publishing: flood) { rig in
            try await Console.run(["--receive-high-water-mark", "10"], besides: rig) { console in
                let viewer = try await console.viewer()
                let text = try await viewer.text("samples") { $0.contains("event: samples") }
                try console.program.send(.stop)
                let state = try await rig.streams.send(StreamsList(), timeout: .seconds(60)).streams.first
                let target = (state?.nextSequence ?? 0) + 200_000
                try await eventually("two seconds of samples") {
                    let stream = try await rig.streams.send(StreamsList(), timeout: .seconds(60)).streams.first
                    return (stream?.nextSequence ?? 0) > target
                }
                // The stream is stopped, because on a slow machine the console would fall behind repeatedly and never recover
                // everything.
                _ = try await rig.streams.send(StreamsStop(stream: #require(state).name), timeout: .seconds(60))
                try console.program.send(.resume)
                _ = try await viewer.text("a gap, and its end", after: text) {
                    $0.contains("event: gap") && $0.contains("\"state\":\"open\"")
                        && $0.contains("\"state\":\"recovered\"")
                }
            }
        }
    }

    @Test func killingTheConsoleAffectsNoRecording() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            try await rig.start(RecordingStart(session: "kept", streams: ["left-wrist/"]))
            try await Console.run(besides: rig) { console in
                let viewer = try await console.viewer()
                _ = try await viewer.text("samples") { $0.contains("event: samples") }
                try console.program.send(.kill)
                _ = try await console.program.end()
            }
            // Another console shows the session at once.
            try await Console.run(besides: rig) { console in
                let viewer = try await console.viewer()
                _ = try await viewer.text("the session") {
                    $0.contains(#""session":"kept","startDate""#) && $0.contains("event: samples")
                }
            }
            let result = try await rig.stop("kept")
            #expect(result.report.isWhole)
        }
    }

    // MARK: Recorded sessions

    /// A recorded session of some seconds whose step and annotation would run as code if a page did not escape them.
    private static func withSession(
        consoleOptions: [String] = [], _ body: @escaping @Sendable (Rig, Console, RecordingResult) async throws -> Void
    ) async throws {
        try await Rig.run(publishing: sine, dataIn: "data") { rig in
            try await rig.start(
                RecordingStart(session: "s1", task: "<b>Walk</b>", step: "out", streams: ["left-wrist/"]))
            _ = try await rig.recordings.send(
                RecordingAnnotate(session: "s1", label: "<script>alert(1)</script>"), timeout: .seconds(60))
            _ = try await rig.recordings.send(RecordingMoveTo(session: "s1", step: "back"), timeout: .seconds(60))
            try await eventually("some samples") {
                let state = try await rig.recordings.send(RecordingStatus(session: "s1"), timeout: .seconds(60))
                return state.logs.reduce(0) { $0 + $1.samples } > 400
            }
            let result = try await rig.stop("s1")
            try await Console.run(["--data", rig.directory.appending("data").string] + consoleOptions, besides: rig) {
                try await body(rig, $0, result)
            }
        }
    }

    /// Decodes the JSON body of an answer.
    private static func json<Value: Decodable>(_ answer: String, as type: Value.Type) throws -> Value {
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(300))")
        let header = try #require(answer.firstRange(of: "\r\n\r\n"))
        return try WireCoding.decode(type, from: Array(answer[header.upperBound...].utf8))
    }

    private struct Plot: Decodable {
        var width: Double
        var times: [Double]
        var columns: [String: [[Double]]]
    }

    @Test func aSessionIsListedShownVerifiedAndDownloaded() async throws {
        try await Self.withSession { rig, console, result in
            let list = try Self.json(await console.answer("GET", "/api/sessions"), as: JSONValue.self)
            let entry = try #require(list["sessions"]?[0])
            #expect(entry["session"] == .string("s1") && entry["whole"] == .boolean(true))
            #expect(entry["samples"] == .integer(result.report.streams[0].received))
            for (query, count) in [
                ("search=S1", 1), ("search=walk", 1), ("search=other", 0), ("after=2000", 0), ("after=2999", 1),
            ] {
                let found = try Self.json(await console.answer("GET", "/api/sessions?\(query)"), as: JSONValue.self)
                guard case .array(let sessions)? = found["sessions"] else { throw TestFailure("\(found)") }
                #expect(sessions.count == count, "\(query)")
            }
            let details = try Self.json(await console.answer("GET", "/api/sessions/s1"), as: JSONValue.self)
            #expect(details["annotations"]?[0]?["label"] == .string("<script>alert(1)</script>"))
            #expect(
                details["steps"]?[0]?["step"] == .string("out") && details["steps"]?[0]?["timestamp"] == .integer(0))
            #expect(details["steps"]?[1]?["step"] == .string("back"))
            let check = try Self.json(await console.answer("POST", "/api/sessions/s1/verify"), as: JSONValue.self)
            #expect(check["whole"] == .boolean(true) && check["problems"] == .array([]))

            let file = try #require(result.logs.first?.files.first)
            let download = try await console.answer("GET", "/api/sessions/s1/files/\(file)")
            let onDisk = try String(
                contentsOfFile: FilePath(result.directory).appending(file).string, encoding: .utf8)
            #expect(download.hasSuffix("\r\n\r\n" + onDisk))
            #expect(download.contains("Content-Disposition: attachment; filename=\"\(file)\""))
        }
    }

    @Test func aSessionIsExported() async throws {
        try await Self.withSession { rig, console, result in
            let exports = rig.directory.appending("exports").string
            let recorder = try ProductsDirectory.executable("recorder")
            _ = try await Tool.output(of: recorder, ["export", result.directory, "--to", exports, "--format", "csv"])
            let table = try String(contentsOfFile: "\(exports)/s1/left-wrist_gyro.csv", encoding: .utf8)
            let path = "/api/sessions/s1/export"
            let csv = try await console.answer("GET", "\(path)?format=csv&stream=left-wrist/gyro")
            #expect(csv.hasPrefix("HTTP/1.1 200 ") && csv.hasSuffix("\r\n\r\n" + table))
            #expect(csv.contains("Content-Disposition: attachment; filename=\"s1_left-wrist_gyro.csv\""))
            // Both formats begin with letters that no other format has.
            for (format, magic) in [("mcap", "MCAP0"), ("xdf", "XDF:")] {
                let client = try WebClient(port: console.port)
                try await client.send(console.request("GET", "\(path)?format=\(format)", [:], body: nil))
                let answer = try #require(try await client.bytes())
                let end = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)))
                let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
                #expect(
                    head.contains(".\(format)\"") && head.contains("Content-Length: \(answer.count - end.upperBound)"))
                #expect(String(decoding: answer[end.upperBound...].prefix(8), as: UTF8.self).contains(magic))
            }
            for (query, status) in [
                ("", 400), ("?format=csv", 400), ("?format=bids", 400), ("?format=mcap&stream=left-wrist/gyro", 400),
                ("?format=csv&stream=a/b", 404),
            ] {
                let answer = try await console.answer("GET", path + query)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(query): \(answer)")
            }
            // A file that was changed is not passed off as the recorded one.
            let file = FilePath(result.directory).appending(try #require(result.logs.first?.files.first))
            let open = try FileDescriptor.open(file, .writeOnly)
            _ = try open.closeAfter { try open.writeAll("x".utf8) }
            let damaged = try await console.answer("GET", "\(path)?format=csv&stream=left-wrist/gyro")
            #expect(damaged.hasPrefix("HTTP/1.1 409 "), "\(damaged.prefix(200))")
        }
    }

    @Test func anOverviewShowsTheExtremesOfWhatWasRecorded() async throws {
        try await Self.withSession { rig, console, result in
            let items = try LogItem.read(rig.onlyFile(of: result)).filter { $0.marker == nil }
            for columns in [1, 10, 4_000] {
                let plot = try Self.json(
                    await console.answer(
                        "GET", "/api/sessions/s1/overview?stream=left-wrist/gyro&columns=\(columns)"), as: Plot.self)
                let values = try #require(plot.columns.values.first)
                #expect(values.count == plot.times.count && plot.times.count <= columns && !values.isEmpty)
                #expect(plot.times == plot.times.sorted())
            }
            #expect(items.count == result.report.streams[0].received)
            let start = result.report.startDate.seconds
            let part = try Self.json(
                await console.answer(
                    "GET", "/api/sessions/s1/overview?stream=left-wrist/gyro&from=\(start)&to=\(start + 1)"),
                as: Plot.self)
            #expect(part.times.allSatisfy { start - 0.1...start + 1 ~= $0 })
            // What the publisher still keeps is the same signal.
            let history = try await eventualValue("the stream's description, and its past") {
                let answer = try await console.answer("GET", "/api/history?device=left-wrist&stream=gyro&columns=100")
                return answer.hasPrefix("HTTP/1.1 404 ") ? nil : try Self.json(answer, as: Plot.self)
            }
            let extremes = try #require(history.columns.values.first)
            #expect(extremes.count > 10 && extremes.allSatisfy { $0[0] >= -1.000_001 && $0[1] <= 1.000_001 })
        }
    }

    @Test func noNameLeadsOutOfTheSessions() async throws {
        try await Self.withSession { _, console, _ in
            for path in [
                "/api/sessions/%2e%2e", "/api/sessions/..%2f..%2fetc",
                "/api/sessions/s1/files/..%2f..%2f..%2fetc%2fpasswd",
                "/api/sessions/s1/files/%2e%2e", "/api/sessions/s1/files/.wal", "/api/sessions/%2e%2e/files/passwd",
                "/api/sessions/s1/files/", "/api/sessions//files/x", "/api/sessions/nothing",
                "/api/sessions/s1/nothing",
                "/api/sessions/s1/files/report.json/x", "/api/sessions/s1/overview?stream=a/b",
            ] {
                let answer = try await console.answer("GET", path)
                #expect(answer.hasPrefix("HTTP/1.1 404 ") || answer.hasPrefix("HTTP/1.1 400 "), "\(path): \(answer)")
            }
            for query in ["stream=a", "stream=left-wrist/gyro&from=x", "stream=left-wrist/gyro&columns=-1"] {
                let answer = try await console.answer("GET", "/api/sessions/s1/overview?\(query)")
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(query): \(answer)")
            }
            #expect(try await console.answer("GET", "/api/sessions/s1/verify").hasPrefix("HTTP/1.1 404 "))
            #expect(try await console.answer("POST", "/api/sessions/s1").hasPrefix("HTTP/1.1 405 "))
        }
    }

    @Test func aReportIsOnePageWithoutScriptAndAlwaysTheSame() async throws {
        try await Self.withSession { rig, console, result in
            let recorder = try ProductsDirectory.executable("recorder")
            var pages: [String] = []
            for name in ["one.html", "two.html"] {
                let file = rig.directory.appending(name).string
                _ = try await Tool.output(of: recorder, ["report", result.directory, "--to", file])
                pages.append(try String(contentsOfFile: file, encoding: .utf8))
            }
            #expect(pages[0] == pages[1])
            let page = pages[0]
            #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("&lt;b&gt;Walk&lt;/b&gt;"))
            #expect(
                !page.contains("<script") && !page.contains("<b>") && !page.contains("src=") && !page.contains("http"))
            #expect(page.contains("Whole: every sample") && page.contains("<svg"))
            // A simulated signal must not be mistaken for a person's.
            #expect(page.contains("<td>simulated</td>"))
            let sums = try String(
                contentsOfFile: FilePath(result.directory).appending("SHA256SUMS").string, encoding: .utf8)
            for line in sums.split(separator: "\n") { #expect(page.contains(line.prefix(64))) }
            let answer = try await console.answer("GET", "/api/sessions/s1/report")
            #expect(answer.hasSuffix("\r\n\r\n" + page))
            #expect(answer.contains("Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; sandbox"))
            // The session is still what was recorded.
            _ = try await Tool.output(of: recorder, ["verify", result.directory])
        }
    }

    // MARK: Permissions

    private static let routes = [
        "/", "/api/state", "/api/events", "/api/call/recording.list", "/api/history?device=a&stream=b", "/api/sessions",
        "/api/sessions/s1", "/api/sessions/s1/overview", "/api/sessions/s1/verify",
        "/api/sessions/s1/files/report.json",
        "/api/sessions/s1/report", "/api/sessions/s1/export?format=mcap", "/assets/../../etc/passwd", "/api/nothing",
        "/api/system", "/foxglove",
    ]

    @Test func withoutTheTokenNothingIsAnswered() async throws {
        try await Console.run(["--login"]) { console in
            for route in Self.routes {
                let name = "holdfast-\(console.port)"
                for cookie in ["\(name)=", "\(name)=\(String(repeating: "0", count: 32))", "x=\(console.token)"] {
                    for method in ["GET", "POST"] {
                        let answer = try await console.answer(method, route, ["Cookie": cookie])
                        #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(method) \(route): \(answer)")
                    }
                }
            }
            let page = try await console.answer("GET", "/")
            #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("<title>"))
            let login = try await console.answer("GET", "/?token=\(console.token)", ["Cookie": ""])
            #expect(login.contains("Set-Cookie: holdfast-\(console.port)=\(console.token); HttpOnly; SameSite=Strict"))
        }
    }

    @Test func otherPagesAndOtherNamesAreRefused() async throws {
        try await Console.run { console in
            for route in Self.routes {
                for headers in [
                    ["Host": "evil.example:\(console.port)"], ["Host": "127.0.0.1.evil.example"],
                    ["Origin": "http://evil.example"],
                    ["Origin": "null"],
                ] {
                    for method in ["GET", "POST"] {
                        let answer = try await console.answer(method, route, headers)
                        #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(method) \(route) \(headers): \(answer)")
                    }
                }
                let plain = try await console.answer("POST", route, ["X-Holdfast": "0"])
                #expect(plain.hasPrefix("HTTP/1.1 403 "))
            }
        }
    }

    /// Requests that change something, in every program.
    private static let changes = [
        ("recording.start", #"{"session":"no","streams":["left-wrist/"]}"#),
        ("recording.moveTo", #"{"session":"no","step":"x"}"#), ("recording.pause", #"{"session":"no"}"#),
        ("recording.resume", #"{"session":"no"}"#), ("recording.cancel", #"{"session":"no"}"#),
        ("recording.stop", #"{"session":"no"}"#), ("recording.annotate", #"{"session":"no","label":"x"}"#),
        ("recording.discard", #"{"session":"no"}"#), ("streams.start", #"{"stream":"left-wrist/gyro"}"#),
        ("streams.stop", #"{"stream":"left-wrist/gyro"}"#), ("steps.stopUpdates", #"{"subscription":"x"}"#),
        ("logs.remove", #"{"name":"x","deleteFiles":true}"#), ("logs.removeUploaded", #"{"paths":["a.json"]}"#),
        ("archive.create", #"{"session":"no"}"#), ("archive.retry", #"{"session":"no"}"#),
    ]

    @Test func aPageThatMayListenChangesNothing() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            try await Console.run(["--role", "listen"], besides: rig) { console in
                for (method, body) in Self.changes {
                    let answer = try await console.answer("POST", "/api/call/\(method)", body: body)
                    #expect(
                        answer.hasPrefix("HTTP/1.1 403 ") && answer.contains("\"notAllowed\""), "\(method): \(answer)")
                }
                let list = try await console.answer("POST", "/api/call/recording.list")
                #expect(list.hasPrefix("HTTP/1.1 200 ") && !list.contains(#""session":"no""#))
                #expect(try await console.answer("GET", "/api/state").contains(#""roles":["listen"]"#))
            }
        }
    }

    /// Other machines reach the console only over TLS. Each role has its own link, and both links survive a restart.
    @Test func overTLSEachLinkHasItsRole() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            let identity = rig.directory.appending("identity")
            var greetings: [[String]] = []
            for run in 0..<2 {
                let options = ["--identity", identity.string, "--listen", "0.0.0.0:0", "--name", "lab.example"]
                greetings.append(
                    try await Console.run(options, besides: rig) { console in
                        let lines = console.program.standardOutput.split(separator: "\n").map(String.init)
                        let links = lines.compactMap {
                            $0.firstMatch(
                                of: #/^console: open https://lab\.example:\d+/\?token=([0-9a-f]{32}) to look/#)
                        }.map { String($0.output.1) }
                        #expect(links.count == 3)
                        let statuses = [
                            "delete": [200, 200, 200, 404], "command": [200, 200, 200, 403],
                            "listen": [200, 200, 403, 403],
                        ]
                        for (role, token) in zip(["delete", "command", "listen"], links) {
                            #expect(
                                try await Self.statuses(token, "\(role)-\(run)", console.port, identity)
                                    == statuses[role], "\(role)")
                        }
                        let nobody = try await Self.statuses("0123456789abcdef", "x", console.port, identity)
                        #expect(nobody == [401, 401, 401, 401])
                        let fingerprint = try await Tool.output(
                            of: "openssl",
                            [
                                "x509", "-in", identity.appending("certificate.pem").string, "-noout", "-fingerprint",
                                "-sha256",
                            ]
                        ).split(separator: "=").last
                        #expect(
                            lines.contains {
                                $0.hasSuffix("SHA-256 fingerprint \(fingerprint.map { $0.dropLast() } ?? "-")")
                            })
                        return links
                    })
            }
            #expect(greetings[0] == greetings[1])
        }
    }

    /// The statuses of the answers to four requests: for the page, one that reads, one that changes something, and one that
    /// removes.
    private static func statuses(
        _ token: String, _ name: String, _ port: UInt16, _ identity: FilePath
    ) async throws -> [Int] {
        var statuses: [Int] = []
        for (path, body) in [
            ("", nil), ("api/call/recording.list", "{}"),
            ("api/call/recording.start", #"{"session":"by-\#(name)","streams":["left-wrist/"]}"#),
            ("api/call/recording.discard", #"{"session":"nothing"}"#),
        ] {
            let options =
                body.map { ["--data", $0, "--header", "X-Holdfast: 1"] } ?? [
                    "--header", "Origin: https://lab.example:\(port)",
                ]
            let text = try await Tool.output(
                of: "curl",
                [
                    "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert",
                    identity.appending("certificate.pem").string, "--resolve", "lab.example:\(port):127.0.0.1",
                    "--header",
                    "Authorization: Bearer \(token)",
                ] + options + ["https://lab.example:\(port)/\(path)"])
            statuses.append(Int(text) ?? 0)
        }
        return statuses
    }

    @Test func beyondThisMachineItDoesNotListenWithoutTLS() async throws {
        for options in [["--listen", "0.0.0.0:0"], ["--listen", "*:0", "--login"], ["--listen", "[::]:0"]] {
            let answer = try await ProgramUnderTest.run(
                "console", arguments: options + ["--reply", "tcp://127.0.0.1:*"]
            ) { program in (try await program.end(), program.standardError) }
            #expect(answer.0 == .exited(78) && answer.1.contains("pass --identity DIR"), "\(answer)")
        }
    }

    @Test func theSystemSaysHowProgramsClocksDiskAndViewersAre() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            try await Console.run(["--login", "--data", rig.directory.string], besides: rig) { console in
                let viewer = try await console.viewer()
                _ = try await viewer.text("the state") { $0.contains("event: state") }
                let system = try Self.json(await console.answer("GET", "/api/system"), as: JSONValue.self)
                guard case .array(let programs)? = system["programs"], case .array(let clocks)? = system["clocks"],
                    case .array(let queues)? = system["queues"]
                else { throw TestFailure("\(system)") }
                #expect(
                    programs.count == 5 && programs[1]["health"]?["status"] != nil && programs[4]["health"] == .null)
                // Programs on one machine share a clock; programs that do not answer are not listed.
                #expect(clocks.compactMap { $0["program"] } == [.string("sensor-publisher"), .string("recorder")])
                for clock in clocks {
                    guard case .number(let offset)? = clock["offsetSeconds"],
                        case .number(let trip)? = clock["roundTripSeconds"]
                    else { throw TestFailure("\(clock)") }
                    #expect(abs(offset) <= trip)
                }
                for queue in ["behindSeconds", "backlogBytes"] {
                    #expect(queues.contains { $0["program"] == .string("recorder") && $0["queue"] == .string(queue) })
                }
                guard case .integer(let free)? = system["disk"]?["freeBytes"] else { throw TestFailure("\(system)") }
                #expect(free > 0)
                let connected = system["connected"]?[0]
                #expect(connected?["kind"] == .string("page") && connected?["address"] == .string("127.0.0.1"))
                #expect(connected?["role"] == .string("delete") && connected?["sinceDate"] != nil)
            }
        }
    }

    @Test func slowAndOversizedRequestsKeepNobody() async throws {
        try await Console.run { console in
            let head = "Host: 127.0.0.1:\(console.port)\r\nX-Holdfast: 1\r\n"
            var slow: [WebClient] = []
            for route in Self.routes {
                let client = try WebClient(port: console.port)
                // The body of this request never arrives.
                try await client.send("POST \(route) HTTP/1.1\r\n\(head)Content-Length: 9\r\n\r\n{")
                slow.append(client)
                for (header, status) in [
                    ("Content-Length: 99999999\r\n", 413), ("Content-Length: -1\r\n", 400),
                    ("Content-Length: x\r\n", 400),
                    ("X: \(String(repeating: "x", count: 20_000))\r\n", 431),
                ] {
                    let answer = try await WebClient.answer(
                        "POST \(route) HTTP/1.1\r\n\(head)\(header)\r\n", port: console.port)
                    // A malformed request may end without an answer.
                    #expect(
                        answer?.hasPrefix("HTTP/1.1 \(status) ") == true
                            || status == 400 && answer?.contains(" 200 ") == false,
                        "\(route) \(header.prefix(30)): \(answer?.prefix(200) ?? "nothing")")
                }
            }
            #expect(try await console.answer("GET", "/").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func wrongRequestsAreExplained() async throws {
        try await Console.run { console in
            let names = String(repeating: "a/b,", count: 1_200)
            for (method, path, status) in [
                ("GET", "/api/events?streams=a/b/c", 400), ("GET", "/api/events?streams=%2e%2e", 400),
                ("GET", "/api/events?streams=\(names)", 400), ("POST", "/api/events", 405),
                ("HEAD", "/api/events", 405), ("GET", "/assets/%2e%2e/index.html", 404),
                ("GET", "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404), ("GET", "/api/call/recording.list", 405),
                ("POST", "/api/call/recording.nothing", 404), ("POST", "/api/call/..%2f..%2fstate", 404),
                ("POST", "/api/state", 405),
            ] {
                let answer = try await console.answer(method, path)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(method) \(path): \(answer)")
            }
        }
    }

    @Test func itAnswersForItsHealthAndStopsWhenAsked() async throws {
        try await Console.run { console in
            let viewer = try await console.viewer()
            _ = try await viewer.text("the state") { $0.contains("event: state") }
            let ready = try await console.program.ready()
            let client = try RequestClient(context: .init(), thread: .init(name: "test"), endpoint: ready.reply)
            let health = try await client.send(ServiceHealth(), timeout: .seconds(50))
            #expect(health.measures?["viewers"] == 1)
            try console.program.send(.terminate)
            #expect(try await console.program.end() == .exited(0))
        }
    }
}

extension JSONValue {
    fileprivate subscript(key: String) -> JSONValue? {
        if case .object(let fields) = self { fields[key] } else { nil }
    }

    fileprivate subscript(index: Int) -> JSONValue? {
        if case .array(let items) = self, items.indices.contains(index) { items[index] } else { nil }
    }
}
