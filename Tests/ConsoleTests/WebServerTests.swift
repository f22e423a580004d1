import Synchronization
import TestSupport
import Testing
import WebServer

@Suite(.timeLimit(.minutes(1)))
struct WebServerTests {
    private static func admission(_ server: WebServer) -> @Sendable (inout WebRequest) -> WebResponse? {
        let admission = WebAdmission(port: server.port)
        return { admission.answer(to: &$0) }
    }

    /// Answers each request with its method, path and body length while the body runs.
    private static func serving(
        connectionLife: Duration = .seconds(50), _ body: (UInt16) async throws -> Void
    ) async throws {
        let server = try WebServer(port: 0, limits: .browsers.lasting(connectionLife))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run(admitting: Self.admission(server)) { request in
                    WebResponse(body: Array("\(request.method) \(request.path) \(request.body.count)".utf8))
                }
            }
            try await body(server.port)
            group.cancelAll()
            do { try await group.next() } catch is CancellationError {}
        }
    }

    private static func post(_ size: Int, sent: Int? = nil, port: UInt16) -> String {
        "POST /a HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX-Holdfast: 1\r\nContent-Length: \(size)\r\n\r\n"
            + String(repeating: "x", count: sent ?? size)
    }

    @Test func requestsAreAnsweredWithTheirBodies() async throws {
        try await Self.serving { port in
            let page = try await WebClient.answer("GET /b?c=d HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
            #expect(page?.hasPrefix("HTTP/1.1 200 OK\r\n") == true)
            #expect(page?.hasSuffix("\r\n\r\nGET /b 0") == true)
            #expect(page?.contains("Content-Security-Policy: default-src 'self'") == true)
            let answer = try await WebClient.answer(Self.post(5_000, port: port), port: port)
            #expect(answer?.hasSuffix("\r\n\r\nPOST /a 5000") == true)
        }
    }

    @Test func aConnectionEndsAfterAnAnswerThatTookItsTime() async throws {
        let server = try WebServer(port: 0)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run(admitting: Self.admission(server)) { request in
                    if request.path == "/open" { gate.open() } else { await gate.pass() }
                    return WebResponse(body: Array("done".utf8))
                }
            }
            let slow = try WebClient(port: server.port)
            try await slow.send("GET /slow HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n")
            _ = try await WebClient.answer(
                "GET /open HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n", port: server.port)
            #expect(try await slow.answer()?.hasSuffix("done") == true)
            group.cancelAll()
            do { try await group.next() } catch is CancellationError {}
        }
    }

    /// A browser opens a page of many files: requests arrive while others are answered.
    @Test func manyRequestsAtOnceAreAllAnswered() async throws {
        try await Self.serving { port in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<6 {
                    group.addTask {
                        var answered = 0
                        for number in 0..<100 {
                            let request = "GET /\(client)/\(number) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
                            let answer = try await WebClient.answer(request, port: port)
                            answered += answer?.hasSuffix("GET /\(client)/\(number) 0") == true ? 1 : 0
                        }
                        return answered
                    }
                }
                for try await answered in group { #expect(answered == 100) }
            }
        }
    }

    @Test func longHeadersAreRefused() async throws {
        try await Self.serving { port in
            let long = String(repeating: "x", count: WebLimits.browsers.memory)
            let answer = try await WebClient.answer(
                "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX: \(long)\r\n\r\n", port: port)
            #expect(answer?.hasPrefix("HTTP/1.1 431 ") == true)
        }
    }

    @Test func aLongBodyIsRefusedBeforeItIsRead() async throws {
        try await Self.serving { port in
            let answer = try await WebClient.answer(
                Self.post(WebLimits.browsers.body + 1, sent: 60_000, port: port), port: port)
            #expect(answer?.hasPrefix("HTTP/1.1 413 ") == true)
        }
    }

    @Test func aSlowRequestEnds() async throws {
        try await Self.serving(connectionLife: .milliseconds(200)) { port in
            let client = try WebClient(port: port)
            try await client.send(
                "POST /a HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX-Holdfast: 1\r\nContent-Length: 9\r\n\r\nx")
            #expect(try await client.answer() != nil)
        }
    }

    @Test func anotherHostIsRefused() async throws {
        try await Self.serving { port in
            let answer = try await WebClient.answer("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", port: port)
            #expect(answer?.hasPrefix("HTTP/1.1 403 ") == true)
        }
    }

    // MARK: Feeds

    /// A feed that keeps its messages until they are sent.
    private final class Feed: WebFeed {
        private let bytes = Mutex<[UInt8]>([])
        private let gone = Mutex(false)

        func add(_ text: String) { bytes.withLock { $0 += Array(text.utf8) } }

        var isGone: Bool { gone.withLock { $0 } }

        var isEmpty: Bool { bytes.withLock { $0.isEmpty } }

        func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            bytes.withLock { bytes in
                let count = min(bytes.count, buffer.count)
                buffer.copyBytes(from: bytes[..<count])
                bytes.removeFirst(count)
                return count
            }
        }

        func end() { gone.withLock { $0 = true } }
    }

    /// Serves a feed while the body runs.
    private static func feeding(
        connectionLife: Duration = .seconds(50),
        _ body: (WebServer, Feed, WebClient) async throws -> Void
    ) async throws {
        let server = try WebServer(port: 0, limits: .browsers.lasting(connectionLife))
        let feed = Feed()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run(admitting: Self.admission(server)) { _ in
                    WebResponse(type: "text/plain", body: .feed(feed))
                }
            }
            let client = try WebClient(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n")
            _ = try await client.text("the header") { $0.contains("\r\n\r\n") }
            try await body(server, feed, client)
            group.cancelAll()
            do { try await group.next() } catch is CancellationError {}
        }
    }

    @Test func aFeedIsSentAsItComes() async throws {
        try await Self.feeding { server, feed, client in
            for number in 0..<20 {
                feed.add("part \(number);")
                await server.deliver()
                _ = try await client.text("part \(number)") { $0.contains("part \(number);") }
            }
        }
    }

    @Test func aFeedOfABrowserThatLeftEnds() async throws {
        let server = try WebServer(port: 0)
        let feed = Feed()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run(admitting: Self.admission(server)) { _ in
                    WebResponse(type: "text/plain", body: .feed(feed))
                }
            }
            do {
                let client = try WebClient(port: server.port)
                try await client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n")
                _ = try await client.text("the header") { $0.contains("\r\n\r\n") }
            }
            try await eventually("the feed's end") {
                feed.add("more")
                await server.deliver()
                return feed.isGone
            }
            group.cancelAll()
            do { try await group.next() } catch is CancellationError {}
        }
    }

    @Test func aBrowserThatDoesNotReadIsLeftAndKeepsNobody() async throws {
        try await Self.feeding(connectionLife: .milliseconds(300)) { server, feed, _ in
            let much = String(repeating: "x", count: 100_000)
            try await eventually("the slow browser's end") {
                feed.add(much)
                await server.deliver()
                return feed.isGone
            }
        }
    }
}
