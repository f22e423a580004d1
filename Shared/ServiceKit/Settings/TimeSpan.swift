import ArgumentParser

/// A duration as people type it: `200ms`, `1.5s`, `10m`, `2h`, `7d`; a bare number is in seconds.
///
/// Whole nanoseconds, never negative, at most 292 years.
package struct TimeSpan: Hashable, Sendable {
    /// The duration in nanoseconds, never negative.
    package let nanoseconds: Int64

    /// `nanoseconds` must not be negative.
    package init(nanoseconds: Int64) {
        precondition(nanoseconds >= 0, "a duration is not negative")
        self.nanoseconds = nanoseconds
    }

    package static func seconds(_ seconds: Int64) -> TimeSpan { TimeSpan(nanoseconds: seconds * 1_000_000_000) }

    package static func milliseconds(_ milliseconds: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: milliseconds * 1_000_000)
    }

    /// The same as a `Duration`, for clocks and sleeps.
    package var duration: Duration { .nanoseconds(nanoseconds) }

    /// In descending order, as `description` needs them.
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
        ("ms", 1_000_000), ("us", 1000), ("ns", 1),
    ]

    private static let unitsByName = Dictionary(
        uniqueKeysWithValues: units.map { ($0.name, $0.nanoseconds) } + [("", 1_000_000_000)])
}

extension TimeSpan: Comparable {
    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension TimeSpan: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        guard let nanoseconds = Quantity.parse(text.lowercased(), units: Self.unitsByName) else {
            throw InvalidValue("'\(text)' is not a duration: write 200ms, 10s, 5m, 2h or 7d")
        }
        self.init(nanoseconds: nanoseconds)
    }

    /// The duration in the largest unit that gives a whole number: `90s`, `1500ms`.
    package var description: String {
        let unit = Self.units.first { nanoseconds >= $0.nanoseconds && nanoseconds.isMultiple(of: $0.nanoseconds) }
        guard let unit else { return "0s" }
        return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }
}
