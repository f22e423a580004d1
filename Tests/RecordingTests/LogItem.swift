import Foundation
import SystemPackage

/// A record of a JSON log, as another's parser reads it.
struct LogItem: Decodable, Equatable {
    var uptime: Double
    var timestamp: Double
    var stepPath: String
    var sensorType: String?
    var x: Double?
    var y: Double?
    var z: Double?
    var timestampDate: String?
    var marker: String?

    /// A root dictionary.
    struct Root: Decodable {
        var startDate: String
        var items: [LogItem]
    }

    /// The records of a file, whichever its root.
    static func read(_ path: FilePath) throws -> [LogItem] {
        let bytes = try Data(contentsOf: URL(filePath: path.string))
        if bytes.first == UInt8(ascii: "{") { return try JSONDecoder().decode(Root.self, from: bytes).items }
        return try JSONDecoder().decode([LogItem].self, from: bytes)
    }
}
