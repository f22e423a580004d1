import Metrics
import Synchronization
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct MetricsServerTests {
    private final class Count: Sendable {
        let value = Atomic(0)
    }

    private static let get = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"

    /// Serves a page whose number grows, while the body runs.
    private static func serving(
        connectionLife: Duration = .seconds(50), pause: Duration = .zero, _ body: (UInt16) async throws -> Void
    ) async throws {
        let server = try MetricsServer(host: "127.0.0.1", port: 0, connectionLife: connectionLife)
        let count = Count()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run {
                    try? await Task.sleep(for: pause)
                    var page = MetricsPage()
                    let number = count.value.add(1, ordering: .relaxed).newValue
                    page.add(Metric(.counter, "scrapes_total", "Scrapes."), number)
                    return page
                }
            }
            try await body(server.port)
            group.cancelAll()
            do { try await group.next() } catch is CancellationError {}
        }
    }

    @Test func thePageIsMadeForEachRequest() async throws {
        try await Self.serving { port in
            for number in 1...3 {
                let answer = try #require(try await WebClient.answer(Self.get, port: port))
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(answer.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
                #expect(
                    answer.hasSuffix(
                        "\r\n\r\n# HELP scrapes_total Scrapes.\n# TYPE scrapes_total counter\nscrapes_total \(number)\n"
                    ))
            }
        }
    }

    @Test func aHeadIsAnsweredWithoutThePage() async throws {
        try await Self.serving { port in
            let answer = try #require(
                try await WebClient.answer("HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: port))
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.contains("\r\nContent-Length: ") && !answer.contains("Content-Length: 0\r\n"))
            #expect(answer.hasSuffix("\r\n\r\n"))
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "404"), ("GET /metrics/ HTTP/1.1\r\nHost: h\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc", "405"),
        ("DELETE /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "405"),
        ("GET /metrics HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", "431"),
        ("GET /\(String(repeating: "x", count: 20_000)) HTTP/1.1\r\nHost: h\r\n\r\n", "414"),
    ])
    func whatIsNoScrapeIsRefused(request: String, status: String) async throws {
        try await Self.serving { port in
            let answer = try #require(try await WebClient.answer(request, port: port))
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(300))")
            if status == "405" { #expect(answer.contains("\r\nAllow: GET, HEAD\r\n")) }
        }
    }

    @Test(arguments: [
        "\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "\r\n\r\n\r\n", "SSH-2.0-x\r\n\r\n", "GET /metrics XYZ/1\r\n\r\n",
    ])
    func whatIsNoHTTPEnds(request: String) async throws {
        try await Self.serving(connectionLife: .milliseconds(500)) { port in
            let answer = try await WebClient.answer(request, port: port)
            #expect(answer != nil)
            #expect(answer?.contains("scrapes_total") != true)
        }
    }

    /// More clients than may be connected at once, each as slow as possible: their connections end, and others get their turn.
    @Test func whoeverHoldsConnectionsIsLetGo() async throws {
        // Long enough that the first are counted before others take their places, even on a busy machine.
        try await Self.serving(connectionLife: .seconds(2)) { port in
            var clients: [WebClient] = []
            // At most as many as the kernel queues: a client that the kernel drops silently never sees an end.
            for _ in 0..<24 { clients.append(try WebClient(port: port)) }
            for client in clients.prefix(8) { try await client.send("GET /metr") }
            // The others wait in the kernel.
            #expect(try Self.connections(to: port) <= 16)
            // On a busy machine the scrape's connection may be closed too; it is retried, as Prometheus does.
            try await eventually("a scrape is answered") {
                try await WebClient.answer(Self.get, port: port)?.contains("\nscrapes_total ") ?? false
            }
            for client in clients {
                let answer = try await client.answer()
                #expect(answer?.contains("200 OK") == false)
            }
        }
    }

    @Test func thoseWhoWaitGetTheSamePage() async throws {
        try await Self.serving(pause: .milliseconds(500)) { port in
            let answers = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<8 { group.addTask { try await WebClient.answer(Self.get, port: port) } }
                return try await group.reduce(into: []) { $0.append($1 ?? "") }
            }
            #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 200 OK\r\n") })
            #expect(Set(answers.map { $0.suffix(4) }).count < 8)
        }
    }

    @Test func aServerEndsWithRequestsUnderWay() async throws {
        var client: WebClient?
        try await Self.serving(pause: .seconds(100)) { port in
            client = try WebClient(port: port)
            try await client?.send(Self.get)
            try await eventually("the connection is taken") { try Self.connections(to: port) == 1 }
        }
        let answer = try await client?.answer()
        #expect(answer != nil, "the connection is there still")
    }

    @Test func aPortInUseIsNotShared() async throws {
        try await Self.serving { port in
            #expect(throws: Errno.addressInUse) { try MetricsServer(host: "127.0.0.1", port: port) }
        }
    }

    @Test(arguments: ["203.0.113.1", "no.such.host.invalid"])
    func aHostThatIsNotHereIsRefused(host: String) {
        #expect(throws: Errno.addressNotAvailable) { try MetricsServer(host: host, port: 0) }
    }

    /// The number of connections that a server of this process has accepted.
    private static func connections(to port: UInt16) throws -> Int {
        // The kernel returns a few lines at a time, and nowhere their number.
        let file = try FileDescriptor.open("/proc/net/tcp", .readOnly)
        let table = try file.closeAfter {
            var table: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 4_096)
            while case let count = try piece.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
                table += piece[..<count]
            }
            return table
        }
        let suffix = ":" + String(UInt32(port) + 0x1_0000, radix: 16, uppercase: true).dropFirst()
        // A line may appear twice, in two pieces, if other connections begin between them.
        let peers = String(decoding: table, as: UTF8.self).split(separator: "\n").compactMap { line -> Substring? in
            let fields = line.split(separator: " ")
            // Connections that are not accepted have no inode.
            let isTaken = fields.count > 9 && fields[1].hasSuffix(suffix) && fields[3] == "01" && fields[9] != "0"
            return isTaken ? fields[2] : nil
        }
        return Set(peers).count
    }
}
