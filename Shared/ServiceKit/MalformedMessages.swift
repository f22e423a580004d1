package import Logging
import ZeroMQ

/// Counts the messages that a program could not read and dropped. The log and health say so, and why, once in a while:
/// a hostile publisher sends a million a minute.
package struct MalformedMessages: Sendable {
    /// How long nothing more is said, in nanoseconds.
    private static let interval: Int64 = 60_000_000_000

    private let health: Health
    private let logger: Logger
    /// How many there were.
    package private(set) var count = 0
    private var saidAt: Int64?

    /// None so far.
    package init(health: Health, logger: Logger) {
        self.health = health
        self.logger = logger
        health.measure("messagesMalformed", 0)
    }

    /// Counts one.
    /// - Parameters:
    ///   - error: why it could not be read.
    ///   - now: an instant of `MonotonicClock`.
    package mutating func note(_ error: any Error, at now: Int64 = MonotonicClock.now) {
        count += 1
        health.measure("messagesMalformed", Double(count))
        if let saidAt, now - saidAt < Self.interval { return }
        saidAt = now
        let reason = String("\(error)".prefix(300))
        logger.warning("a message could not be read", metadata: [LogKey.error: "\(reason)", "count": "\(count)"])
        health.report(
            .degraded, "\(count) or more messages could not be read, lately: \(reason)", for: "malformed")
    }
}
