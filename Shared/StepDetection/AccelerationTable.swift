import Messages
import TextInput

/// Reads lines of a table as accelerations: which columns are the time and the axes, and then their numbers.
///
/// With a header the columns are found by name, in any order and whatever their case: `t`, `timestamp`, `time` or `uptime`
/// (seconds), and `x`, `y` and `z`; `x` alone will do, and is then the magnitude. Without one they are time, x, y and z.
/// Cells are separated by commas, tabs or semicolons; what else there is, is left out. A row without the numbers, as a
/// recording's markers are, is no sample.
struct AccelerationTable {
    private static let timeNames = ["t", "timestamp", "time", "uptime"]

    /// The columns of time, x, y and z; an axis that is not there has none.
    private var columns: SIMD4<Int>?
    private var separator = UInt8(ascii: ",")

    /// Reads a line without its end; nil for one that is no sample.
    ///
    /// - Returns: seconds, and the axes.
    /// - Throws: `invalidInput` where the first line names no such columns, or has too few numbers.
    mutating func sample(_ line: Span<UInt8>) throws(TextInputError) -> SIMD4<Double>? {
        guard let columns else {
            let columns = try decide(line)
            self.columns = columns.columns
            return columns.isHeader ? nil : Self.numbers(of: line, columns.columns, separator)
        }
        return Self.numbers(of: line, columns, separator)
    }

    private mutating func decide(
        _ line: Span<UInt8>
    ) throws(TextInputError) -> (columns: SIMD4<Int>, isHeader: Bool) {
        let text = line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        for candidate in [",", "\t", ";"] as [Character] where text.contains(candidate) {
            separator = candidate.asciiValue ?? separator
            break
        }
        let names = text.split(separator: Character(UnicodeScalar(separator)), omittingEmptySubsequences: false).map {
            $0.drop { $0 == "\u{FEFF}" }.filter { $0 != " " && $0 != "\"" }.lowercased()
        }
        if names.count >= 4, names.prefix(4).allSatisfy({ Double($0) != nil }) {
            return (SIMD4(0, 1, 2, 3), false)
        }
        guard let time = Self.timeNames.compactMap({ names.firstIndex(of: $0) }).first,
            let x = names.firstIndex(of: "x")
        else {
            throw TextInputError(
                .invalidInput,
                "no columns t, x, y and z: the first line should name them, or have a time in seconds and three numbers"
            )
        }
        let none = -1
        return (SIMD4(time, x, names.firstIndex(of: "y") ?? none, names.firstIndex(of: "z") ?? none), true)
    }

    private static func numbers(
        of line: Span<UInt8>, _ columns: SIMD4<Int>, _ separator: UInt8
    ) -> SIMD4<Double>? {
        var sample = SIMD4<Double>(repeating: .nan)
        for lane in 0..<4 where columns[lane] < 0 { sample[lane] = 0 }
        line.withUnsafeBytes { bytes in
            var (column, start) = (0, 0)
            while start <= bytes.count {
                var end = start
                while end < bytes.count, bytes[end] != separator { end += 1 }
                for lane in 0..<4 where columns[lane] == column {
                    sample[lane] = number(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) ?? .nan
                }
                column += 1
                start = end + 1
            }
        }
        for lane in 0..<4 where !sample[lane].isFinite { return nil }
        return sample
    }

    private static func number(_ bytes: UnsafeRawBufferPointer) -> Double? {
        let isPadding = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\"") }
        var range = 0..<bytes.count
        while let first = range.first, isPadding(bytes[first]) { range.removeFirst() }
        while let last = range.last, isPadding(bytes[last]) { range.removeLast() }
        return DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[range]))
    }
}
