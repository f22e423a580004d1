import Messages
import SystemPackage
import TestSupport

/// The metrics of a running program, as read by Prometheus' parser for Python.
struct ServedMetrics {
    /// A family and its values.
    struct Family: Codable {
        struct Sample: Codable {
            let name: String
            let labels: [String: String]
            let value: Double
        }

        let name: String
        let type: String
        let help: String
        let samples: [Sample]

        /// The names of the family's labels, except for the bounds of a histogram.
        var labels: Set<String> { Set(samples.flatMap(\.labels.keys)).subtracting(["le"]) }
    }

    let families: [Family]

    /// Reads the pages at these URLs.
    static func read(_ urls: [String]) async throws -> [ServedMetrics] {
        let script = FilePath(#filePath).removingLastComponent().appending("Clients/metrics.py")
        return try await Python.run(script, arguments: urls).split(separator: "\n").map { line in
            ServedMetrics(families: try WireCoding.decode([Family].self, from: line.utf8))
        }
    }

    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.lazy.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    func sum(_ name: String) -> Double {
        families.first { $0.name == name }?.samples.reduce(0) { $0 + $1.value } ?? .nan
    }
}
