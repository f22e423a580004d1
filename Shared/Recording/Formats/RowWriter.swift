import Messages

/// Writes rows of samples as records, with pieces that are lent to it. The hot path: nothing here counts references or
/// allocates.
struct RowWriter {
    let pieces: RecordPieces.Lent
    let format: LogFormat
    /// The values of a row after uptime.
    let fieldCount: Int
    /// The room that all pieces need.
    let pieceRoom: Int

    /// The longest number, with the room to write it and, in JSON, quotes around a word.
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

    /// Writes the present row of `rows`, with its digits as they stand in `frame`.
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

    /// Writes a number and moves `end` behind it.
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

    /// Copies a value's digits and moves `end` behind them.
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
