import Messages
import Recording

/// A sample during its export: the bytes of its record, and the positions of its values in them. Valid only during the call that
/// passes it.
package struct SampleRow {
    package let bytes: UnsafeRawBufferPointer
    /// The positions of the stream's values: JSON values, or table fields with their quotes.
    package let cells: UnsafeBufferPointer<Range<Int>>
    package let isJSON: Bool
    /// The position of the recorded digits of the seconds since the session's start.
    package let timestamp: Range<Int>
    /// Nanoseconds since the session's start, on the clock of the export; `nil` for a sample without a time.
    package let time: Int64?
    /// The sample's number in its epoch.
    package let sequence: Int

    package init(
        bytes: UnsafeRawBufferPointer, cells: UnsafeBufferPointer<Range<Int>>, isJSON: Bool, timestamp: Range<Int>,
        time: Int64?, sequence: Int
    ) {
        self.bytes = bytes
        self.cells = cells
        self.isJSON = isJSON
        self.timestamp = timestamp
        self.time = time
        self.sequence = sequence
    }

    @inline(__always)
    package func cell(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[cells[index]])
    }

    /// Whether the source had no value for this column.
    @inline(__always)
    package func isNull(_ index: Int) -> Bool {
        let cell = cell(index)
        return cell.isEmpty || isJSON && cell.first == UInt8(ascii: "n")
    }

    /// The value of a numeric column; NaN if absent.
    @inline(__always)
    package func number(_ index: Int) -> Double { DecimalParser.parse(cell(index)) ?? .nan }

    /// The value of a column of another kind, without quotes and escapes; JSON unchanged.
    package func text(_ index: Int) -> String {
        let cell = cell(index)
        guard cell.first == UInt8(ascii: "\"") else { return String(decoding: cell, as: UTF8.self) }
        return isJSON ? JSONScanner.string(at: 0..<cell.count, in: cell) : TableText.unquoted(cell)
    }

    /// The value by the column's kind. In a JSON column, a text stays JSON too, so that the result does not depend on the file's
    /// format.
    package func text(_ index: Int, _ kind: ExportedStream.Column.Kind) -> String {
        kind == .json && isJSON ? String(decoding: cell(index), as: UTF8.self) : text(index)
    }
}
