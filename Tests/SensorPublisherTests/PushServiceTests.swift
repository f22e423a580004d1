import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The real program, with clients that push over HTTP.
@Suite(.timeLimit(.minutes(1)))
struct PushServiceTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    /// Runs the program with a free port for samples while a closure runs.
    private func serving(
        _ arguments: [String] = [], _ body: (ProgramUnderTest, ProgramReady, UInt16) async throws -> Void
    ) async throws {
        let all = ProgramUnderTest.anyPorts + ["--listen-http", "0"] + arguments
        try await ProgramUnderTest.run("sensor-publisher", arguments: all) { program in
            let line = try await program.line("where to push") { $0.contains("devices push to ") }
            let digits = line.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
            try await body(program, try await program.ready(), try #require(UInt16(digits)))
        }
    }

    private func post(
        _ path: String, _ body: String, headers: String = "", to port: UInt16
    ) async throws -> (status: Int, text: String) {
        let request =
            "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let answer = try #require(try await WebClient.answer(request, port: port))
        let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let text = answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? ""
        return (status ?? 0, text)
    }

    private func numbered(_ range: Range<Int>, device: String = "m5") -> String {
        let rows = range.map { "[\(Double($0) / 50),\($0),0,1]" }.joined(separator: ",")
        return
            #"{"device":"\#(device)","stream":"accelerometer","epoch":"e","first":\#(range.lowerBound),"unit":"g","samples":[\#(rows)]}"#
    }

    @Test func pushedSamplesArePublishedBeforeTheyAreAcknowledged() async throws {
        try await serving { program, ready, port in
            let first = try await post("/samples", numbered(0..<10), to: port)
            #expect(first.status == 200)
            #expect(first.text == #"{"next":10}"#)
            let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
            let stream = try #require(try await client.send(StreamsList(), timeout: .seconds(50)).streams.first)
            #expect(stream.name.description == "m5/accelerometer")
            #expect(stream.unit == "g")
            #expect(stream.nextSequence == 10)
            let (reply, frames) = try await client.sendForFrames(
                SamplesReplay(device: "m5", stream: "accelerometer", epoch: stream.epoch, from: 0, count: 10),
                timeout: .seconds(50))
            #expect(reply.count == 10)
            let rows = try frames.flatMap { try WireCoding.decode(SampleBatch.self, from: $0).values ?? [] }
            #expect(rows.map { $0[1] } == (0..<10).map(Double.init))
            #expect(try await post("/samples", numbered(0..<10), to: port).text == #"{"next":10}"#)
            let logger =
                #"{"messageId":0,"sessionId":"s","deviceId":"d1","payload":[{"name":"gyroscope","time":1698501144401773000,"values":{"x":1,"y":2,"z":3}}]}"#
            #expect(try await post("/sensor-logger", logger, to: port).status == 200)
            let streams = try await client.send(StreamsList(), timeout: .seconds(50)).streams
            #expect(streams.map(\.name.description).sorted() == ["d1/gyroscope", "m5/accelerometer"])
            try program.send(.terminate)
            let end = try await program.end()
            #expect(end == .exited(0))
        }
    }

    @Test func beyondThisMachineOnlyWhoHasTheTokenMayPushOverTLS() async throws {
        try await withTemporaryDirectory { directory in
            let identity = directory.appending("identity").string
            try await serving(["--http-identity", identity]) { program, ready, port in
                let line = try await program.line("the link") { $0.contains("?token=") }
                let token = try #require(line.split(separator: "=").last)
                func status(_ arguments: [String]) async throws -> String {
                    try await Tool.output(
                        of: "curl",
                        [
                            "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert",
                            "\(identity)/certificate.pem", "--data", numbered(0..<1),
                        ] + arguments)
                }
                let address = "https://localhost:\(port)/samples"
                let without = try await status([address])
                #expect(without == "401")
                #expect(try await status(["\(address)?token=0123456789abcdef0123456789abcdef"]) == "401")
                #expect(try await status([address, "-H", "Authorization: Bearer x"]) == "401")
                #expect(try await status([address, "-H", "Authorization: Bearer \(token)"]) == "200")
                #expect(try await status(["\(address)?token=\(token)"]) == "200")
                #expect(try await status(["\(address)?token=\(token)", "-H", "Origin: https://evil.example"]) == "403")
                // The page itself reveals nothing about this machine; its requests need the token, which is behind the #.
                let base = "https://localhost:\(port)"
                let shown = try await program.line("the phone's link") { $0.contains("while it shows ") }
                #expect(shown.hasSuffix("/phone#token=\(token)"))
                let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
                let phones = try await client.send(PhonesLink(), timeout: .seconds(50))
                #expect(shown.hasSuffix(" \(phones.link)"))
                #expect(phones.code.count >= 21 && phones.code.allSatisfy { $0.count == phones.code.count })
                #expect(phones.code.first?.hasPrefix("1111111") == true)
                for page in ["/phone", "/phone.js", "/phone.css", "/store.js", "/favicon.ico"] {
                    #expect(try await status(["--get", base + page]) == "200")
                }
                for path in ["/recording", "/phone-link.svg"] {
                    #expect(try await status(["--get", base + path]) == "401")
                    #expect(try await status(["--get", base + path, "-H", "Authorization: Bearer \(token)"]) == "200")
                }
            }
        }
    }

    @Test func hostileRequestsAreRefusedAndOthersServed() async throws {
        try await serving { _, ready, port in
            for (path, body, status) in [
                ("/nowhere", "{}", 404), ("/samples", "{", 400),
                ("/samples", numbered(0..<1, device: "../../etc"), 400),
                ("/samples", #"{"device":"a","stream":"b","first":0,"samples":[[0,NaN]]}"#, 400),
                ("/samples", String(repeating: "[", count: 500_000), 400),
                ("/sensor-logger", String(repeating: #"{"payload":"#, count: 50_000), 400),
            ] {
                #expect(try await post(path, body, to: port).status == status)
            }
            // A gigabyte is refused before it is read; without a declared length, the connection is cut.
            let long = "POST /samples HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 1000000000\r\n\r\n"
            #expect(try await WebClient.answer(long, port: port)?.hasPrefix("HTTP/1.1 413 ") == true)
            let endless = try WebClient(port: port)
            try await endless.send(
                "POST /samples HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n")
            for _ in 0..<40 { try await endless.send(String(repeating: " ", count: 1 << 16)) }
            #expect(try await endless.answer()?.contains("200 OK") != true)
            // Idle connections delay nobody.
            let slow = try (0..<100).map { _ in try WebClient(port: port) }
            for client in slow {
                try await client.send("POST /samples HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 9\r\n\r\n{")
            }
            let options = "OPTIONS /samples HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            #expect(try await WebClient.answer(options, port: port)?.hasPrefix("HTTP/1.1 405 ") == true)
            let rebound = "POST /samples HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n"
            #expect(try await WebClient.answer(rebound, port: port)?.hasPrefix("HTTP/1.1 403 ") == true)
            #expect(try await post("/samples", numbered(0..<5), to: port).text == #"{"next":5}"#)
            withExtendedLifetime(slow) {}
            let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
            #expect(try await client.send(ServiceHealth(), timeout: .seconds(50)).status == .ok)
        }
    }

    @Test func aClientsNumbersGoOnWhenThePublisherIsKilled() async throws {
        var epochs: Set<String> = []
        for range in [0..<10, 5..<20] {
            try await serving { program, ready, port in
                #expect(try await post("/samples", numbered(range), to: port).text == #"{"next":\#(range.upperBound)}"#)
                let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
                let stream = try #require(try await client.send(StreamsList(), timeout: .seconds(50)).streams.first)
                #expect(stream.nextSequence == range.upperBound)
                epochs.insert(stream.epoch)
                try program.send(.kill)
                _ = try await program.end()
            }
        }
        #expect(epochs.count == 1, "the epoch is the client's: what it sends twice is recognised")
    }

    @Test func whatWouldBeOpenToOthersIsRefused() async throws {
        let arguments = ProgramUnderTest.anyPorts + ["--listen-http", "0.0.0.0:0"]
        try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
            let end = try await program.end()
            #expect(end == .exited(78))
            #expect(program.standardError.contains("over plain HTTP: pass --http-identity DIR"))
        }
    }

    @Test func phonesHaveTheNamesOfTheConfigurationFile() async throws {
        let configuration = #"{"sensor-publisher":{"phones":[{"device":"d1","name":"left-hand","platform":"ios"}]}}"#
        try await withFile("phones.json", configuration) { path in
            try await serving(["--config", path]) { _, ready, port in
                let body =
                    #"{"messageId":0,"sessionId":"s","deviceId":"d1","payload":[{"name":"accelerometeruncalibrated","time":1698501144401773000,"values":{"x":1,"y":2,"z":3}}]}"#
                #expect(try await post("/sensor-logger", body, to: port).status == 200)
                let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
                let stream = try #require(try await client.send(StreamsList(), timeout: .seconds(50)).streams.first)
                #expect(stream.name.description == "left-hand/accelerometerUncalibrated")
                #expect(stream.unit == "g")
                #expect(stream.description?.contains("iOS") == true)
            }
        }
    }
}
