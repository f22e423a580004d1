import Messages
import Recording

/// Rows of samples in both wire forms, and the result of formatting them.
struct Rows {
    var values: [[Double]]

    /// Little-endian Float64, row by row, starting `offset` bytes into the array, to test any alignment.
    func packed(offset: Int = 0) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: offset)
        for value in values.joined() {
            withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 }
        }
        return bytes
    }

    /// The array of rows in JSON.
    var json: [UInt8] {
        let rows = values.map { row in
            "[" + row.map { $0.isFinite ? digits($0) : "\"\(word($0))\"" }.joined(separator: ",") + "]"
        }
        return Array("[\(rows.joined(separator: ","))]".utf8)
    }
}

/// The text of a finite number, computed independently of the code under test.
func digits(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

func word(_ number: Double) -> String {
    number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity"
}

extension RecordFormatter {
    /// The text of packed rows.
    mutating func text(
        packed rows: Rows, in range: Range<Int>? = nil, offset: Int = 0, timeline: SessionTimeline, origin: Int64 = 0
    ) -> (text: String, result: FormattedRows) {
        var buffer = ByteBuffer(capacity: 0)
        let result = rows.packed(offset: offset).withUnsafeBytes { bytes in
            append(
                packed: UnsafeRawBufferPointer(rebasing: bytes[offset...]), rows: range ?? 0..<rows.values.count,
                timeline: timeline, origin: origin, to: &buffer)
        }
        return (buffer.text, result)
    }

    /// The text of JSON rows.
    mutating func text(
        json: [UInt8], count: Int, in range: Range<Int>? = nil, timeline: SessionTimeline, origin: Int64 = 0,
        after prefix: String = ""
    ) throws -> (text: String, result: FormattedRows) {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: prefix)
        // Other bytes surround the array, as in a frame.
        let frame = Array("{}".utf8) + json + Array("}".utf8)
        let result = try frame.withUnsafeBytes { frame in
            try append(
                values: 2..<frame.count - 1, of: frame, count: count, rows: range ?? 0..<count, timeline: timeline,
                origin: origin, to: &buffer)
        }
        return (buffer.text, result)
    }

    /// The text of a marker.
    func text(_ marker: Marker, origin: Int64 = 0) -> String {
        var buffer = ByteBuffer(capacity: 0)
        append(marker, origin: origin, to: &buffer)
        return buffer.text
    }
}

extension ByteBuffer {
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
