/// Conversions between the seconds that people, files and the wire have, and the integer nanoseconds that time is counted in here.
package enum Nanoseconds {
    /// The furthest time from zero that is taken, in nanoseconds (126 years): sums of two such times cannot overflow.
    package static let limit: Int64 = 4_000_000_000_000_000_000

    /// Nanoseconds in a second.
    package static let perSecond: Int64 = 1_000_000_000

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
