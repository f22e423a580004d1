package import Messages

/// A decoded record of a log, the same for every format.
package struct LogRecord: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        package var name: String
        /// A text without escapes, or a number with its digits as in the file; non-finite numbers are words.
        package var text: String
    }

    /// The columns in their order, without the empty ones.
    package var columns: [Column]

    /// The text of a column; `nil` if the column is empty or missing.
    package subscript(name: String) -> String? {
        columns.first { $0.name == name }?.text
    }

    package var stepPath: String { self["stepPath"] ?? "" }
    /// The name of a sample's stream; `nil` for a marker.
    package var sensorType: String? { self["sensorType"] }
    /// The event of a marker; `nil` for a sample.
    package var marker: String? { sensorType == nil ? self["marker"] : nil }
    /// The marker's `timestampDate`, on the recorder's clock.
    package var date: WallTime? { self["timestampDate"].flatMap { try? WallTime(iso8601: $0) } }

    /// The epoch and number of the next sample that a marker states; for a gap, of its first sample.
    package var position: (epoch: String, from: Int)? {
        guard marker != nil, let epoch = self["epoch"], let from = self["from"].flatMap({ Int($0) }) else { return nil }
        return (epoch, from)
    }

    package var gap: Gap? {
        guard marker == "gap", let position, let count = self["count"].flatMap({ Int($0) }), position.from >= 0,
            count >= 0, let reason = self["reason"]
        else { return nil }
        return Gap(
            epoch: position.epoch, from: position.from, count: count, reason: Gap.Reason(rawValue: reason), date: date)
    }

    // MARK: Formats

    /// Decodes a valid JSON object.
    init(json bytes: UnsafeRawBufferPointer) {
        columns = []
        var scanner = JSONScanner(bytes)
        _ = scanner.skip(UInt8(ascii: "{"))
        while let key = try? scanner.skipString(), scanner.skip(UInt8(ascii: ":")),
            let value = try? scanner.skipValue()
        {
            let isString = bytes[value.lowerBound] == UInt8(ascii: "\"")
            let text =
                isString
                ? JSONScanner.string(at: value, in: bytes) : String(decoding: bytes[value], as: UTF8.self)
            if !text.isEmpty, isString || text != "null" {
                columns.append(Column(name: JSONScanner.string(at: key, in: bytes), text: text))
            }
            guard scanner.skip(UInt8(ascii: ",")) else { break }
        }
    }

    /// The keys of a valid JSON object.
    static func keys(json bytes: UnsafeRawBufferPointer) -> [String] {
        var keys: [String] = []
        var scanner = JSONScanner(bytes)
        _ = scanner.skip(UInt8(ascii: "{"))
        while let key = try? scanner.skipString(), scanner.skip(UInt8(ascii: ":")), (try? scanner.skipValue()) != nil {
            keys.append(JSONScanner.string(at: key, in: bytes))
            guard scanner.skip(UInt8(ascii: ",")) else { break }
        }
        return keys
    }

    /// Decodes a row with the named columns.
    init(table bytes: UnsafeRawBufferPointer, columns names: [String], format: LogFormat) {
        columns = []
        guard case .whole(let row) = TableColumns.texts(bytes, format: format, isLast: true) else { return }
        columns = zip(names, row.columns).compactMap { $1.isEmpty ? nil : Column(name: $0, text: $1) }
    }
}
