/// Text in aligned columns, for a font of one width.
package enum TextColumns {
    /// Rows as aligned lines, with two spaces between columns: text to the left, numbers to the right.
    package static func aligned(_ rows: [[String]], textColumns: Set<Int> = [0]) -> [String] {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                let fill = String(repeating: " ", count: widths[column] - text.count)
                line += (column == 0 ? "" : "  ") + (textColumns.contains(column) ? text + fill : fill + text)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    package static func decimal(_ number: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        let text = "\((number * scale).rounded() / scale)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Samples per second, and the nominal rate if there is one.
    static func rate(_ actual: Double?, of nominal: Double?) -> String {
        let actual = actual.map { decimal($0, places: 2) } ?? "-"
        return nominal.map { "\(actual) of \(decimal($0, places: 2))" } ?? actual
    }
}
