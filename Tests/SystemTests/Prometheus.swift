import FoundationEssentials
import Messages
import SystemPackage
import TestSupport

/// A real Prometheus and its checker promtool, installed by Scripts/setup-prometheus.
struct Prometheus {
    private static let directory = FilePath(#filePath).removingLastComponent().appending("../../.build-prometheus")

    /// Whether both are installed.
    static let isInstalled = ["promtool", "prometheus"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: directory.appending($0).string)
    }

    /// The complaints of promtool; empty if there are none.
    static func complaints(_ arguments: [String], about input: String = "") async throws -> String {
        try await ProgramUnderTest.run(
            executable: directory.appending("promtool"), arguments: arguments, input: Array(input.utf8)
        ) { promtool in
            let end = try await promtool.end(within: .seconds(60))
            return end == .exited(0) ? "" : "\(end): \(promtool.standardOutput)\(promtool.standardError)"
        }
    }

    /// Runs a Prometheus that scrapes programs each second, as long as the body runs.
    /// - Parameters:
    ///   - rules: the path of the alert rules.
    ///   - targets: addresses of metrics, with the names of their instances.
    static func run(
        rules: FilePath, targets: [(name: String, address: String)], in directory: FilePath,
        _ body: (Prometheus) async throws -> Void
    ) async throws {
        let lines = targets.map { "      - {targets: ['\($0.address)'], labels: {instance: \($0.name)}}" }
        let configuration = """
            global: {scrape_interval: 1s, evaluation_interval: 1s}
            rule_files: ['\(rules)']
            scrape_configs:
              - job_name: holdfast
                static_configs:
            \(lines.joined(separator: "\n"))

            """
        let file = directory.appending("prometheus.yaml").string
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)
        let port = try FreePort.next()
        try await ProgramUnderTest.run(
            executable: Self.directory.appending("prometheus"),
            arguments: [
                "--config.file=\(file)", "--storage.tsdb.path=\(directory.appending("prometheus"))",
                "--web.listen-address=127.0.0.1:\(port)",
            ], in: directory
        ) { _ in try await body(Prometheus(port: port)) }
    }

    private let port: UInt16

    /// The current values of an expression, with their labels; nil while Prometheus does not answer.
    func values(of expression: String) async throws -> [(labels: [String: String], value: Double)]? {
        struct Answer: Decodable {
            struct Data: Decodable {
                struct Element: Decodable {
                    var metric: [String: String]
                    var value: [JSONValue]
                }
                var result: [Element]
            }
            var data: Data?
            var error: String?
        }
        let query = String(decoding: expression.utf8.flatMap(Self.escaped), as: UTF8.self)
        let request = "GET /api/v1/query?query=\(query) HTTP/1.0\r\nHost: h\r\n\r\n"
        guard let text = try await WebClient.answer(request, port: port),
            let body = text.split(separator: "\r\n\r\n", maxSplits: 1).last, body.hasPrefix("{")
        else { return nil }
        let answer = try WireCoding.decode(Answer.self, from: body.utf8)
        if let error = answer.error { throw TestFailure("\(expression): \(error)") }
        return answer.data?.result.map { element in
            guard case .string(let digits)? = element.value.last else { return (element.metric, .nan) }
            return (element.metric, Double(digits) ?? .nan)
        }
    }

    /// The labels of the firing alerts of this name.
    func firing(_ alert: String) async throws -> [[String: String]] {
        try await values(of: "ALERTS{alertname=\"\(alert)\", alertstate=\"firing\"}")?.map(\.labels) ?? []
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] {
        let isPlain = byte < 128 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
        return isPlain ? [byte] : Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
    }
}
