/// Decides which refused clients to log: each kind once per interval, and only a limited number of kinds.
///
/// A refused client tries again every second; a hostile one may do so a thousand times a second, each time under another name.
package struct RefusalLog {
    /// How long a kind is not logged again, in nanoseconds.
    package static let interval: Int64 = 60_000_000_000
    /// The maximum number of kinds that are logged in that time.
    package static let maximumKinds = 20

    package private(set) var count = 0
    private var mentioned: Set<String> = []
    private var intervalStart = Int64.min
    private var unmentioned = 0

    package init() {}

    /// Records a refusal.
    /// - Parameters:
    ///   - kind: refusals of the same kind are logged once.
    ///   - now: an instant of `MonotonicClock`.
    /// - Returns: nil if the refusal is not to be logged; otherwise the number of refusals that were not logged since the last
    ///   one that was.
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
