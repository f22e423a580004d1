/// Reads the records of log files with the laboratory's own code.
enum LogText {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// The columns that are not fields of a sample.
    private static let own: Set<String> = [
        "uptime", "timestamp", "stepPath", "sensorType", "timestampDate", "marker", "epoch", "from", "count", "reason",
        "device", "unit", "rate", "types",
    ]

    /// The records of a file that must be whole and valid.
    /// - Parameter format: `json`, `csv` or `tsv`.
    static func records(_ bytes: [UInt8], format: String) throws(Fault) -> [LogRecord] {
        format == "json" ? try json(bytes) : try table(bytes, delimiter: format == "tsv" ? 0x09 : 0x2C)
    }

    // MARK: JSON

    private static func json(_ bytes: [UInt8]) throws(Fault) -> [LogRecord] {
        let root: StrictJSON
        do { root = try StrictJSON(bytes) } catch { throw Fault(description: "it is not JSON: \(error)") }
        guard let items = root.array ?? root["items"]?.array else {
            throw Fault(description: "it has no array of records")
        }
        if root.array == nil, root["startDate"]?.string == nil { throw Fault(description: "it has no startDate") }
        var records: [LogRecord] = []
        records.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            guard let members = item.object, let record = record(members) else {
                throw Fault(description: "record \(index) is none: \(item)")
            }
            records.append(record)
        }
        return records
    }

    private static func record(_ members: [StrictJSON.Member]) -> LogRecord? {
        var record = LogRecord(uptime: .nan, timestamp: .nan, stepPath: "")
        var known = 0
        for member in members {
            switch member.key {
            case "uptime":
                record.uptime = number(member.value) ?? .nan
                known += 1
            case "timestamp":
                record.timestamp = number(member.value) ?? .nan
                known += 1
            case "stepPath":
                record.stepPath = member.value.string ?? ""
                known += 1
            case "sensorType": record.sensorType = member.value.string
            case "marker": record.marker = member.value.string
            case "epoch": record.epoch = member.value.string
            case "from": record.from = member.value.integer
            case "count": record.count = member.value.integer
            case "reason": record.reason = member.value.string
            case let key where own.contains(key): break
            default:
                record.values.append(Cell.number(member.value))
            }
        }
        return known == 3 && (record.sensorType == nil) != (record.marker == nil) ? record : nil
    }

    /// Numbers that JSON can't express are written as words.
    private static func number(_ value: StrictJSON) -> Double? {
        switch value {
        case .number(let number): number
        case .string("NaN"), .null: .nan
        case .string("Infinity"): .infinity
        case .string("-Infinity"): -.infinity
        default: nil
        }
    }

    // MARK: Tables

    private static func table(_ bytes: [UInt8], delimiter: UInt8) throws(Fault) -> [LogRecord] {
        let rows = try rows(bytes, delimiter: delimiter)
        guard let header = rows.first, header.starts(with: ["uptime", "timestamp", "stepPath", "sensorType"]) else {
            throw Fault(description: "it has no header")
        }
        let fields = header.indices.filter { !own.contains(header[$0]) }
        let places = Dictionary(header.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var records: [LogRecord] = []
        records.reserveCapacity(rows.count)
        for (index, row) in rows.enumerated().dropFirst() {
            guard row.count == header.count else {
                throw Fault(description: "row \(index) has \(row.count) columns in place of \(header.count)")
            }
            func text(_ name: String) -> String? { places[name].map { row[$0] }.flatMap { $0.isEmpty ? nil : $0 } }
            guard let uptime = Double(row[0]), let timestamp = Double(row[1]) else {
                throw Fault(description: "row \(index) has no times")
            }
            var record = LogRecord(uptime: uptime, timestamp: timestamp, stepPath: row[2])
            record.sensorType = text("sensorType")
            record.marker = text("marker")
            record.epoch = text("epoch")
            record.from = text("from").flatMap { Int($0) }
            record.count = text("count").flatMap { Int($0) }
            record.reason = text("reason")
            guard (record.sensorType == nil) != (record.marker == nil) else {
                throw Fault(description: "row \(index) is neither a sample nor a marker")
            }
            if record.isSample {
                for field in fields {
                    record.values.append(Cell.number(inTable: row[field]))
                }
            }
            records.append(record)
        }
        return records
    }

    /// Rows by RFC 4180; the last row needs no line end.
    private static func rows(_ bytes: [UInt8], delimiter: UInt8) throws(Fault) -> [[String]] {
        var rows: [[String]] = []
        var row: [String] = []
        var field: [UInt8] = []
        var index = 0
        func text() throws(Fault) -> String {
            guard !field.contains(0), let text = String(validating: field, as: UTF8.self) else {
                throw Fault(description: "row \(rows.count) has bytes that are no text")
            }
            return text
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x22, field.isEmpty {
                index += 1
                while true {
                    guard index < bytes.count else { throw Fault(description: "a quote is not closed") }
                    if bytes[index] == 0x22 {
                        guard index + 1 < bytes.count, bytes[index + 1] == 0x22 else { break }
                        index += 1
                    }
                    field.append(bytes[index])
                    index += 1
                }
            } else if byte == delimiter {
                row.append(try text())
                field.removeAll(keepingCapacity: true)
            } else if byte == 0x0A {
                row.append(try text())
                field.removeAll(keepingCapacity: true)
                rows.append(row)
                row.removeAll(keepingCapacity: true)
            } else {
                field.append(byte)
            }
            index += 1
        }
        if !row.isEmpty || !field.isEmpty {
            row.append(try text())
            rows.append(row)
        }
        return rows
    }
}
