import Messages
import Recording

/// Values for tables, with their digits as recorded.
enum TableCell {
    /// Appends a value: a number's digits, other kinds quoted if necessary, nothing for an absent value.
    @inline(__always)
    static func append(
        _ row: SampleRow, _ index: Int, _ kind: ExportedStream.Column.Kind, delimiter: UInt8,
        to buffer: inout ByteBuffer
    ) {
        let cell = row.cell(index)
        guard let first = cell.first else { return }
        // In a table, a text may begin with a digit, too.
        if row.isJSON || kind == .number, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10 {
            return buffer.append(cell)
        }
        appendOther(row, index, kind, delimiter: delimiter, to: &buffer)
    }

    @inline(never)
    private static func appendOther(
        _ row: SampleRow, _ index: Int, _ kind: ExportedStream.Column.Kind, delimiter: UInt8,
        to buffer: inout ByteBuffer
    ) {
        if row.isNull(index) { return }
        let isText = kind != .json || !row.isJSON
        let text = isText ? row.text(index) : String(decoding: row.cell(index), as: UTF8.self)
        // Distinguishes an empty text from an absent value.
        buffer.append(utf8: text.isEmpty ? "\"\"" : TableText.quoted(text, delimiter: delimiter))
    }
}

/// Values for JSON, with their digits as recorded.
enum JSONCell {
    /// Appends a value: `null` if it is absent, or a number that JSON can't represent.
    @inline(__always)
    static func append(
        _ row: SampleRow, _ index: Int, _ kind: ExportedStream.Column.Kind, to buffer: inout ByteBuffer
    ) {
        let cell = row.cell(index)
        // In a table, text has no quotes that would distinguish it from a number.
        if kind != .text, let first = cell.first, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10,
            row.isJSON || JSONScanner.isValid(cell)
        {
            return buffer.append(cell)
        }
        appendOther(row, index, kind, to: &buffer)
    }

    @inline(never)
    private static func appendOther(
        _ row: SampleRow, _ index: Int, _ kind: ExportedStream.Column.Kind, to buffer: inout ByteBuffer
    ) {
        if row.isNull(index) { return buffer.append(utf8: "null") }
        switch kind {
        case .number:
            // A word such as NaN, or a number with a plus sign.
            let number = row.number(index)
            if number.isFinite { buffer.append(json: number) } else { buffer.append(utf8: "null") }
        case .text: buffer.append(jsonString: row.text(index))
        case .boolean: buffer.append(utf8: row.text(index))
        case .json: if row.isJSON { buffer.append(row.cell(index)) } else { buffer.append(utf8: row.text(index)) }
        }
    }
}
