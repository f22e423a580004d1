import FoundationEssentials
package import SystemPackage

/// A record of a stream file, either a sample or a marker, as an independent parser reads it, in any format.
package struct LogItem: Decodable, Equatable, Sendable {
    package var uptime: Double
    package var timestamp: Double
    package var stepPath: String
    package var sensorType: String?
    package var x: Double?
    package var y: Double?
    package var z: Double?
    package var timestampDate: String?
    package var marker: String?
    package var epoch: String?
    package var from: Int?
    package var count: Int?
    package var reason: String?

    /// A JSON stream file whose root is a dictionary.
    package struct Root: Decodable {
        package var startDate: String
        package var items: [LogItem]
    }

    package init(
        uptime: Double, timestamp: Double, stepPath: String, sensorType: String? = nil, x: Double? = nil,
        y: Double? = nil, z: Double? = nil, timestampDate: String? = nil, marker: String? = nil
    ) {
        self.uptime = uptime
        self.timestamp = timestamp
        self.stepPath = stepPath
        self.sensorType = sensorType
        self.x = x
        self.y = y
        self.z = z
        self.timestampDate = timestampDate
        self.marker = marker
    }

    /// Whether this is a sample; otherwise it is a marker.
    package var isSample: Bool { sensorType != nil }

    /// Reads the records of a file, which must be complete and valid.
    /// - Throws: `TestFailure` if a table's rows do not match its header, and errors of reading and decoding.
    package static func read(_ file: FilePath) throws -> [LogItem] {
        let bytes = try Data(contentsOf: URL(filePath: file.string))
        switch file.extension {
        case "csv": return try table(String(decoding: bytes, as: UTF8.self), delimiter: ",")
        case "tsv": return try table(String(decoding: bytes, as: UTF8.self), delimiter: "\t")
        default: break
        }
        if bytes.first == UInt8(ascii: "{") { return try JSONDecoder().decode(Root.self, from: bytes).items }
        return try JSONDecoder().decode([LogItem].self, from: bytes)
    }

    /// Splits without handling quotes, which no text in the tests needs.
    private static func table(_ text: String, delimiter: Character) throws -> [LogItem] {
        let rows = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: delimiter, omittingEmptySubsequences: false)
        }
        let places = Dictionary(uniqueKeysWithValues: zip(rows[0].map(String.init), rows[0].indices))
        return try rows.dropFirst().map { row in
            func text(_ name: String) -> String? {
                places[name].flatMap { row[$0].isEmpty ? nil : String(row[$0]) }
            }
            func number(_ name: String) -> Double? { text(name).flatMap(Double.init) }
            guard row.count == rows[0].count, let uptime = number("uptime"), let timestamp = number("timestamp") else {
                throw TestFailure("\(row) is not a record of a table with the columns \(rows[0])")
            }
            var item = LogItem(
                uptime: uptime, timestamp: timestamp, stepPath: text("stepPath") ?? "", sensorType: text("sensorType"),
                x: number("x"), y: number("y"), z: number("z"), timestampDate: text("timestampDate"),
                marker: text("marker"))
            item.epoch = text("epoch")
            item.from = text("from").flatMap { Int($0) }
            item.count = text("count").flatMap { Int($0) }
            item.reason = text("reason")
            return item
        }
    }
}
