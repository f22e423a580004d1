import Messages

/// Reads the times of samples: seconds, or nanoseconds since 1970.
///
/// Nanoseconds since 1970 have more digits than a `Double`. They are converted to seconds since `origin`, the whole second before
/// the first of them, so that intervals stay exact.
struct SampleTime {
    /// Whole seconds since 1970; 0 for times in seconds.
    private(set) var origin: Int64 = 0

    private static let perSecond: Int64 = 1_000_000_000
    /// Times of at least this (March 1973) are in nanoseconds since 1970; no time in seconds is so large.
    private static let firstSince1970 = 1e17
    /// The fewest digits of such a time.
    private static let digitCount = 18

    /// Seconds since `origin`; NaN if the text is not a number.
    @inline(__always)
    mutating func seconds(_ text: UnsafeRawBufferPointer) -> Double {
        if text.count >= Self.digitCount, let time = nanoseconds(text) { return time }
        guard let time = DecimalParser.parse(text) else { return .nan }
        return time >= Self.firstSince1970 ? time / 1e9 - Double(origin) : time
    }

    @inline(never)
    private mutating func nanoseconds(_ text: UnsafeRawBufferPointer) -> Double? {
        guard text.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let time = Int64(String(decoding: text, as: UTF8.self)),
            Double(time) >= Self.firstSince1970
        else { return nil }
        if origin == 0 { origin = time / Self.perSecond }
        return Double(time - origin * Self.perSecond) / 1e9
    }
}
