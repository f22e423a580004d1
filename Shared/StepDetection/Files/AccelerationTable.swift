import Messages
import TextInput

/// Reads lines of a table as accelerations: it finds the columns of the time and the axes, and then reads their numbers.
///
/// With a header the columns are found by name, in any order and in upper or lower case: `t`, `seconds_elapsed`, `timestamp`,
/// `time` or `uptime` (seconds, or nanoseconds since 1970), and `x`, `y` and `z`. `x` alone is taken as the magnitude, as is
/// `magnitude`. Without a header they are time, x, y and z. Cells are separated by commas, tabs or semicolons, and may be quoted;
/// other columns are ignored. A recording's markers have no numbers, but a `marker`.
struct AccelerationTable {
    /// The names of a time column, in order of preference.
    static let timeNames = ["t", "seconds_elapsed", "timestamp", "time", "uptime"]

    /// The columns of time, x, y and z; −1 for a missing axis.
    private var columns: SIMD4<Int>?
    private var separator = UInt8(ascii: ",")
    /// The columns of a recording's markers.
    private var markerColumn: Int?
    private var unitColumn: Int?

    /// Reads a line without its end; nil for a header.
    /// - Throws: `invalidInput` if the first line names no such columns, or has too few numbers.
    mutating func row(_ line: Span<UInt8>, _ time: inout SampleTime) throws(TextInputError) -> AccelerationRow? {
        if let columns { return row(line, columns, &time) }
        let (columns, isHeader) = try decide(line)
        self.columns = columns
        return isHeader ? nil : row(line, columns, &time)
    }

    @inline(__always)
    private func row(_ line: Span<UInt8>, _ columns: SIMD4<Int>, _ time: inout SampleTime) -> AccelerationRow {
        if let sample = Self.numbers(of: line, columns, separator, &time) { return .sample(sample) }
        guard let markerColumn, text(of: markerColumn, in: line) != nil else { return .none }
        return .marker(unit: unitColumn.flatMap { text(of: $0, in: line) })
    }

    /// The text in a column; nil if it is empty.
    private func text(of column: Int, in line: Span<UInt8>) -> String? {
        var text: String?
        Self.forEachCell(of: line, separator) { index, cell in
            if index == column { text = String(decoding: Self.trimmed(cell), as: UTF8.self) }
        }
        return text?.isEmpty == true ? nil : text
    }

    private mutating func decide(
        _ line: Span<UInt8>
    ) throws(TextInputError) -> (columns: SIMD4<Int>, isHeader: Bool) {
        let text = line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        for candidate in [",", "\t", ";"] as [Character] where text.contains(candidate) {
            separator = candidate.asciiValue ?? separator
            break
        }
        var names: [String] = []
        Self.forEachCell(of: line, separator) { _, cell in
            let name = String(decoding: cell, as: UTF8.self).drop { $0 == "\u{FEFF}" }
            names.append(name.filter { $0 != " " && $0 != "\"" }.lowercased())
        }
        if names.count >= 4, names.prefix(4).allSatisfy({ Double($0) != nil }) {
            return (SIMD4(0, 1, 2, 3), false)
        }
        // In the recorder's files, the stream's own fields follow these columns and may have any name.
        let leading = names.prefix { $0 != "sensortype" }
        guard let time = Self.timeColumn(in: leading) ?? Self.timeColumn(in: names[...]),
            let x = names.firstIndex(of: "x") ?? names.firstIndex(of: "magnitude")
        else {
            throw TextInputError(
                .invalidInput,
                "no columns t, x, y and z: the first line should name them, or have a time in seconds and three numbers"
            )
        }
        markerColumn = names.firstIndex(of: "marker")
        unitColumn = names.firstIndex(of: "unit")
        let none = -1
        return (SIMD4(time, x, names.firstIndex(of: "y") ?? none, names.firstIndex(of: "z") ?? none), true)
    }

    private static func timeColumn(in names: ArraySlice<String>) -> Int? {
        timeNames.compactMap { names.firstIndex(of: $0) }.first
    }

    private static func numbers(
        of line: Span<UInt8>, _ columns: SIMD4<Int>, _ separator: UInt8, _ time: inout SampleTime
    ) -> SIMD4<Double>? {
        var sample = SIMD4<Double>(repeating: .nan)
        for lane in 0..<4 where columns[lane] < 0 { sample[lane] = 0 }
        forEachCell(of: line, separator) { column, cell in
            if columns.x == column { sample.x = time.seconds(trimmed(cell)) }
            for lane in 1..<4 where columns[lane] == column { sample[lane] = number(cell) ?? .nan }
        }
        for lane in 0..<4 where !sample[lane].isFinite { return nil }
        return sample
    }

    /// Passes each cell with its index, in order. A separator in quotes does not count.
    @inline(__always)
    private static func forEachCell(
        of line: Span<UInt8>, _ separator: UInt8, _ body: (Int, UnsafeRawBufferPointer) -> Void
    ) {
        line.withUnsafeBytes { bytes in
            var (column, start) = (0, 0)
            while start <= bytes.count {
                var end = start
                if end < bytes.count, bytes[end] == UInt8(ascii: "\"") { end = endOfQuotes(bytes, from: end) }
                while end < bytes.count, bytes[end] != separator { end += 1 }
                body(column, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                column += 1
                start = end + 1
            }
        }
    }

    /// The end of a quoted cell. Two quotes in it stand for one, and look like an end followed by a beginning.
    private static func endOfQuotes(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            let rest = bytes[(end + 1)...]
            guard let quote = rest.firstIndex(of: UInt8(ascii: "\"")) else { return bytes.count }
            end = quote + 1
        }
        return end
    }

    private static func number(_ bytes: UnsafeRawBufferPointer) -> Double? {
        DecimalParser.parse(trimmed(bytes))
    }

    /// A cell without surrounding blanks and quotes.
    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isPadding = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\"") }
        var range = 0..<bytes.count
        while let first = range.first, isPadding(bytes[first]) { range.removeFirst() }
        while let last = range.last, isPadding(bytes[last]) { range.removeLast() }
        return UnsafeRawBufferPointer(rebasing: bytes[range])
    }
}
