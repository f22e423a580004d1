import FoundationEssentials
import SystemPackage

/// A record of a JSON log, as somebody outside reads it.
struct LogRecord: Decodable {
    let uptime: Double
    let timestamp: Double
    let stepPath: String
    let sensorType: String?
    let marker: String?
    let timestampDate: String?
    let x: Double?
    let y: Double?
    let z: Double?
    let epoch: String?
    let from: Int?
    let count: Int?
    let reason: String?

    /// The records of a log with a root array.
    static func read(_ path: FilePath) throws -> [LogRecord] {
        try JSONDecoder().decode([LogRecord].self, from: Data(contentsOf: URL(filePath: path.string)))
    }
}
