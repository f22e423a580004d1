public import Messages

/// An event's third frame: Unix time in seconds as decimal text, `1795219200.123456`.
///
/// It is text because plotting tools that read `topic | JSON | time` parse it with a plain text-to-number function.
public enum EventTime {
    /// The frame for an instant, to the microsecond.
    public static func text(of time: WallTime) -> [UInt8] {
        withText(of: time) { Array($0) }
    }

    /// The longest frame in bytes: a sign, ten digits, a point and six digits.
    private static let maximumLength = 18

    /// Lends the frame for an instant, without allocating.
    static func withText<Result>(of time: WallTime, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: maximumLength) { text in
            let microseconds = time.nanosecondsSince1970 / 1_000
            var rest = microseconds.magnitude
            // Writes from the end, with at least one digit before the point.
            var place = maximumLength
            while rest > 0 || place > maximumLength - 8 {
                place -= 1
                if place == maximumLength - 7 {
                    text[place] = UInt8(ascii: ".")
                    continue
                }
                text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            if microseconds < 0 {
                place -= 1
                text[place] = UInt8(ascii: "-")
            }
            return body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: text[place...])))
        }
    }

    /// The instant in a frame; nil if the frame is not a number of at most ten digits.
    public static func time(in frame: UnsafeRawBufferPointer) -> WallTime? {
        DecimalParser.parse(frame).flatMap { $0.isFinite && abs($0) < 1e10 ? WallTime(seconds: $0) : nil }
    }
}
