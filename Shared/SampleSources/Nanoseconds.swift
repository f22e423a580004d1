/// Conversions between the seconds that people, files and the wire have, and the integer nanoseconds that time is counted in here.
package enum Nanoseconds {
    /// The furthest time from zero that is taken, in nanoseconds (126 years): sums of two such times cannot overflow.
    package static let limit: Int64 = 4_000_000_000_000_000_000

    /// Nanoseconds in a second.
    package static let perSecond: Int64 = 1_000_000_000

    /// From here on a time is in nanoseconds since 1970 (in March 1973), as no time in seconds can be.
    private static let firstSince1970 = 1e17

    /// A time as tables and objects have it, in seconds or in nanoseconds since 1970, rounded to the nearest nanosecond; nil if
    /// it is not a number or beyond `limit`.
    package static func from(time: Double) -> Int64? {
        time >= firstSince1970 ? from(nanoseconds: time) : from(seconds: time)
    }

    /// A time as it is written; exact, which a `Double` is not for nanoseconds since 1970. Nil for one in seconds.
    package static func since1970(_ text: String) -> Int64? {
        guard let time = Int64(text), Double(time) >= firstSince1970, time <= limit else { return nil }
        return time
    }

    /// Rounds seconds to the nearest nanosecond; nil if they are not a number or beyond `limit`.
    package static func from(seconds: Double) -> Int64? {
        from(nanoseconds: seconds * 1e9)
    }

    /// Rounds to the nearest nanosecond; nil if it is not a number or beyond `limit`.
    package static func from(nanoseconds: Double) -> Int64? {
        guard abs(nanoseconds) <= Double(limit) else { return nil }
        return Int64(nanoseconds.rounded())
    }

    /// The seconds as they go on the wire: correctly rounded, so that their shortest digits are those of the nanoseconds.
    package static func seconds(_ nanoseconds: Int64) -> Double {
        Double(nanoseconds) / 1e9
    }
}
