public import Messages

/// An event's third frame: Unix time in seconds as decimal text, `1795219200.123456`.
///
/// Text, because plotting tools that read `topic | JSON | time` parse it with a plain text-to-number function.
public enum EventTime {
    /// The frame of an instant, to the microsecond.
    public static func text(of time: WallTime) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: maximumLength) { text, count in count = write(time, to: text) }
    }

    /// Bytes of the longest frame: a sign, ten digits, a point and six digits.
    static let maximumLength = 18

    /// Writes the frame of an instant.
    /// - Parameter text: of at least `maximumLength` bytes.
    /// - Returns: how many were written.
    static func write(_ time: WallTime, to text: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let microseconds = time.nanosecondsSince1970 / 1_000
        var rest = microseconds.magnitude
        // From the end, and at least one digit before the point.
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
        let count = maximumLength - place
        for index in 0..<count { text[index] = text[place + index] }
        return count
    }

    /// The instant in a frame; nil if it is not a number.
    public static func time(in frame: UnsafeRawBufferPointer) -> WallTime? {
        DecimalParser.parse(frame).flatMap { $0.isFinite && abs($0) < 1e10 ? WallTime(seconds: $0) : nil }
    }
}
