import Messages
import Synchronization

/// Bounds how many replays are made at the same time: each takes megabytes. Those beyond are refused as `busy`, to be asked
/// for again soon.
package final class ReplaySlots: Sendable {
    /// More than one client asks for at once.
    package static let maximum = 16
    /// About what it takes to make so many, in seconds.
    private static let retryAfter = 0.5

    private let used = Mutex(0)

    package init() {}

    package func withSlot<Reply>(_ body: () async throws -> Reply) async throws -> Reply {
        let isFree = used.withLock { used in
            guard used < Self.maximum else { return false }
            used += 1
            return true
        }
        guard isFree else {
            throw RequestError(
                .busy, "\(Self.maximum) replays are being made: ask again in \(Self.retryAfter) s",
                retryAfter: Self.retryAfter)
        }
        defer { used.withLock { $0 -= 1 } }
        return try await body()
    }
}
