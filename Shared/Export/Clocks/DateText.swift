package import Messages

/// Writes dates in UTC with nine decimals, as `2026-11-21 10:00:08.010452453Z`, which pandas, R, DuckDB and people read.
///
/// Caches the text of the last second, since consecutive samples mostly share it.
package struct DateText {
    private var second = Int64.min
    private var prefix: [UInt8] = []

    package init() {}

    /// Appends a date.
    /// - Parameter date: nanoseconds since 1970.
    package mutating func append(_ date: Int64, to buffer: inout ByteBuffer) {
        var (whole, rest) = date.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 {
            rest += 1_000_000_000
            whole -= 1
        }
        if whole != second {
            second = whole
            prefix = Array(WallTime(nanosecondsSince1970: whole * 1_000_000_000).utcText.utf8.prefix(20))
            prefix[10] = UInt8(ascii: " ")
        }
        buffer.append(prefix)
        Nanoseconds.appendDecimals(rest, to: &buffer)
        buffer.append(UInt8(ascii: "Z"))
    }
}
