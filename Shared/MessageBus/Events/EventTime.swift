public import Messages

/// An event's third frame: Unix time in seconds as decimal text, `1795219200.123456`.
///
/// Text, because plotting tools that read `topic | JSON | time` parse it with a plain text-to-number function.
public enum EventTime {
    /// The frame of an instant, to the microsecond.
    public static func text(of time: WallTime) -> [UInt8] {
        let microseconds = time.nanosecondsSince1970 / 1_000
        var text = [UInt8]("\(microseconds / 1_000_000).".utf8)
        let fraction = "\(microseconds % 1_000_000)".utf8
        text.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 6 - fraction.count))
        text.append(contentsOf: fraction)
        return text
    }

    /// The instant in a frame; nil if it is not a number.
    public static func time(in frame: UnsafeRawBufferPointer) -> WallTime? {
        DecimalParser.parse(frame).flatMap { $0.isFinite && abs($0) < 1e10 ? WallTime(seconds: $0) : nil }
    }
}
