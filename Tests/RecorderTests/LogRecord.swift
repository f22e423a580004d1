import FoundationEssentials
import SystemPackage

/// A record of a log, a sample or a marker, whatever the log's format.
struct LogRecord: Decodable, Equatable {
    var uptime: Double
    var timestamp: Double
    var stepPath: String
    var sensorType: String?
    var x: Double?
    var y: Double?
    var z: Double?
    var marker: String?
    var epoch: String?
    var from: Int?
    var count: Int?
    var reason: String?

    var isSample: Bool { sensorType != nil }

    /// The records of a file, which must be whole and valid.
    static func read(_ file: FilePath) throws -> [LogRecord] {
        let bytes = try Data(contentsOf: URL(filePath: file.string))
        switch file.extension {
        case "csv": return try table(String(decoding: bytes, as: UTF8.self), delimiter: ",")
        case "tsv": return try table(String(decoding: bytes, as: UTF8.self), delimiter: "\t")
        default: break
        }
        struct Root: Decodable {
            var startDate: String
            var items: [LogRecord]
        }
        if bytes.first == UInt8(ascii: "{") { return try JSONDecoder().decode(Root.self, from: bytes).items }
        return try JSONDecoder().decode([LogRecord].self, from: bytes)
    }

    /// None of the test's texts needs quotes.
    private static func table(_ text: String, delimiter: Character) throws -> [LogRecord] {
        let rows = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: delimiter, omittingEmptySubsequences: false).map(String.init)
        }
        guard let header = rows.first else { throw Errno.badFileDescriptor }
        return try rows.dropFirst().map { row in
            guard row.count == header.count else { throw Errno.invalidArgument }
            let columns = Dictionary(uniqueKeysWithValues: zip(header, row).filter { !$0.1.isEmpty })
            func number(_ name: String) -> Double? { columns[name].flatMap(Double.init) }
            guard let uptime = number("uptime"), let timestamp = number("timestamp") else {
                throw Errno.invalidArgument
            }
            return LogRecord(
                uptime: uptime, timestamp: timestamp, stepPath: columns["stepPath"] ?? "",
                sensorType: columns["sensorType"], x: number("x"), y: number("y"), z: number("z"),
                marker: columns["marker"], epoch: columns["epoch"], from: columns["from"].flatMap(Int.init),
                count: columns["count"].flatMap(Int.init), reason: columns["reason"])
        }
    }
}

extension Sequence<LogRecord> {
    /// The sequence numbers of the samples, in order.
    var sequences: [Int] { compactMap { $0.isSample ? $0.x.map { Int($0) } : nil } }
    /// The markers' words, in order.
    var markers: [String] { compactMap(\.marker) }
    /// The samples that the gaps name.
    var lost: [Range<Int>] {
        compactMap { record in
            guard record.marker == "gap", let from = record.from, let count = record.count else { return nil }
            return from..<from + count
        }
    }
}
