import Messages

package struct ReportTable {
    package let columns: [String]
    package let rows: [[String]]
    package let textColumns: Set<Int>

    package init(columns: [String], rows: [[String]], textColumns: Set<Int>) {
        self.columns = columns
        self.rows = rows
        self.textColumns = textColumns
    }

    package var text: String {
        TextColumns.aligned([columns] + rows, textColumns: textColumns).map { $0 + "\n" }.joined()
    }

    /// Comma-separated values with a header (RFC 4180).
    package var csv: String {
        ([columns] + rows).map { row in
            row.map { TableText.quoted($0, delimiter: UInt8(ascii: ",")) }.joined(separator: ",") + "\n"
        }.joined()
    }

    package static func json(_ value: some Encodable) throws -> String {
        String(decoding: try WireCoding.encode(value), as: UTF8.self) + "\n"
    }
}
