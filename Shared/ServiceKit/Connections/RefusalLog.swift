/// Which refused clients are worth a line in the log: each kind once in a while, and never more than a few.
///
/// A client that is refused tries again every second, and a hostile one a thousand times a second under names of its own.
package struct RefusalLog {
    /// How long a kind is not mentioned again, in nanoseconds.
    package static let interval: Int64 = 60_000_000_000
    /// How many kinds are mentioned in that time.
    package static let maximumKinds = 20

    /// How many clients were refused so far.
    package private(set) var count = 0
    private var mentioned: Set<String> = []
    private var intervalStart = Int64.min
    private var unmentioned = 0

    /// Nobody was refused yet.
    package init() {}

    /// Notes a refusal.
    /// - Parameters:
    ///   - kind: what makes it the same as an earlier one.
    ///   - now: an instant of `MonotonicClock`.
    /// - Returns: nil if it is not to be mentioned; else how many were not since the last that was.
    package mutating func note(_ kind: String, at now: Int64) -> Int? {
        count += 1
        if intervalStart == .min || now - intervalStart >= Self.interval {
            intervalStart = now
            mentioned = []
        }
        guard mentioned.count < Self.maximumKinds, mentioned.insert(kind).inserted else {
            unmentioned += 1
            return nil
        }
        defer { unmentioned = 0 }
        return unmentioned
    }
}
