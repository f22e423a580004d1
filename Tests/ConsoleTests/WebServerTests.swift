import TestSupport
import Testing
import WebServer

@Suite(.timeLimit(.minutes(1)))
struct WebServerTests {
    /// Serves what was asked as the answer while the body runs.
    private static func serving(
        connectionLife: Duration = .seconds(50), _ body: (UInt16) async throws -> Void
    ) async throws {
        let server = try WebServer(port: 0, token: nil, connectionLife: connectionLife)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run { request in
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

    @Test func longHeadersAreRefused() async throws {
        try await Self.serving { port in
            let long = String(repeating: "x", count: WebServer.connectionMemory)
            let answer = try await WebClient.answer(
                "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX: \(long)\r\n\r\n", port: port)
            #expect(answer?.hasPrefix("HTTP/1.1 431 ") == true)
        }
    }

    @Test func aLongBodyIsRefusedBeforeItIsRead() async throws {
        try await Self.serving { port in
            let answer = try await WebClient.answer(
                Self.post(WebServer.maximumBody + 1, sent: 60_000, port: port), port: port)
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
}
