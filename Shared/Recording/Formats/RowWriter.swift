import Messages

/// Writes rows of samples as records, with borrowed pieces. The hot path: nothing here counts references or allocates.
struct RowWriter {
    let pieces: RecordPieces.Lent
    let format: LogFormat
    /// The number of values in a row after the uptime.
    let fieldCount: Int
    /// The room that all pieces need.
    let pieceRoom: Int

    /// The longest number, including the room to write it and, in JSON, quotes around a word.
    private static let numberRoom = ShortestDecimal.maximumLength + 2

    /// Writes a row of little-endian Float64 values.
    @inline(__always)
    func append(_ row: PackedRow, timestamp: Double, to buffer: inout ByteBuffer) {
        buffer.withUnsafeMutableTail(reserving: pieceRoom + (fieldCount + 2) * Self.numberRoom) { start in
            var end = UnsafeMutableRawPointer(start)
            pieces.write(0, at: &end)
            write(row[0], at: &end)
            pieces.write(1, at: &end)
            write(timestamp, at: &end)
            pieces.write(2, at: &end)
            for field in 0..<fieldCount {
                write(row[field + 1], at: &end)
                pieces.write(field + 3, at: &end)
            }
            return end - UnsafeMutableRawPointer(start)
        }
    }

    /// Writes the current row of `rows`, with its digits as in `frame`.
    @inline(__always)
    func append(
        _ rows: borrowing SampleRows, of frame: UnsafeRawBufferPointer, timestamp: Double, to buffer: inout ByteBuffer
    ) {
        let digits = rows.token(fieldCount).upperBound - rows.token(0).lowerBound
        buffer.withUnsafeMutableTail(
            reserving: pieceRoom + RecordPieces.room(for: digits) + Self.numberRoom
        ) { start in
            var end = UnsafeMutableRawPointer(start)
            pieces.write(0, at: &end)
            copy(rows.token(0), of: frame, at: &end)
            pieces.write(1, at: &end)
            write(timestamp, at: &end)
            pieces.write(2, at: &end)
            for field in 0..<fieldCount {
                copy(rows.token(field + 1), of: frame, at: &end)
                pieces.write(field + 3, at: &end)
            }
            return end - UnsafeMutableRawPointer(start)
        }
    }

    /// Writes the current row of a stream of records. Not the hot path: values that are not numbers may be long.
    /// - Parameter types: the types of a row's columns.
    func append(
        record rows: borrowing SampleRows, _ types: [FieldType], of frame: UnsafeRawBufferPointer, timestamp: Double,
        to buffer: inout ByteBuffer
    ) {
        pieces.append(0, to: &buffer)
        buffer.append(UnsafeRawBufferPointer(rebasing: frame[rows.token(0)]))
        pieces.append(1, to: &buffer)
        if format == .json { buffer.append(json: timestamp) } else { buffer.append(text: timestamp) }
        pieces.append(2, to: &buffer)
        for field in 0..<fieldCount {
            append(
                value: UnsafeRawBufferPointer(rebasing: frame[rows.token(field + 1)]), types[field + 1], to: &buffer)
            pieces.append(field + 3, to: &buffer)
        }
    }

    /// Appends a JSON value in the record's format.
    private func append(value: UnsafeRawBufferPointer, _ type: FieldType, to buffer: inout ByteBuffer) {
        switch value.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            // A record is one line.
            let json = JSONScanner.withoutBlanks(value)
            if format == .json { return buffer.append(json) }
            buffer.append(utf8: TableText.quoted(String(decoding: json, as: UTF8.self), delimiter: format.delimiter))
        case UInt8(ascii: "\"") where format != .json:
            // A field of any other type keeps its JSON text, which shows the value's type.
            let isText = type == .text || type == .date || type == .number
            let text =
                isText ? JSONScanner.string(at: 0..<value.count, in: value) : String(decoding: value, as: UTF8.self)
            buffer.append(utf8: text.isEmpty ? "\"\"" : TableText.quoted(text, delimiter: format.delimiter))
        case UInt8(ascii: "n") where format != .json: break
        default: buffer.append(value)
        }
    }

    /// Writes a number and moves `end` to its end.
    @inline(__always)
    private func write(_ number: Double, at end: inout UnsafeMutableRawPointer) {
        let text = end.assumingMemoryBound(to: UInt8.self)
        if number.isFinite || format != .json {
            end += ShortestDecimal.write(number, to: text)
        } else {
            text[0] = UInt8(ascii: "\"")
            let count = ShortestDecimal.write(number, to: text + 1)
            text[count + 1] = UInt8(ascii: "\"")
            end += count + 2
        }
    }

    /// Copies a value's digits and moves `end` to their end.
    @inline(__always)
    private func copy(_ token: Range<Int>, of frame: UnsafeRawBufferPointer, at end: inout UnsafeMutableRawPointer) {
        var token = token
        if format != .json {
            let first = frame[token.lowerBound]
            if first == UInt8(ascii: "\"") { token = token.dropFirst().dropLast() }
            if first == UInt8(ascii: "n") { token = token.upperBound..<token.upperBound }
        }
        RecordPieces.copy(UnsafeRawBufferPointer(rebasing: frame[token.lowerBound...]), count: token.count, to: end)
        end += token.count
    }
}
