package import Logging

/// Counts the messages that a program could not read and dropped. The log and health say so, and why, once in a while:
/// a hostile publisher sends a million a minute. Health forgets it when a minute passed without one.
package struct MalformedMessages: Sendable {
    /// How long nothing more is said, and how long health tells of one.
    private static let interval = TimeSpan.seconds(60)

    private let health: Health
    private let logger: Logger
    /// How many there were.
    package private(set) var count = 0
    private var saidAt: Int64?
    private var sentence = ""

    /// None so far.
    package init(health: Health, logger: Logger) {
        self.health = health
        self.logger = logger
    }

    /// Counts one.
    /// - Parameters:
    ///   - error: why it could not be read.
    ///   - now: an instant of `MonotonicClock`.
    package mutating func note(_ error: any Error, at now: Int64) {
        count += 1
        health.measure(.malformedMessages, count)
        if saidAt.map({ now - $0 >= Self.interval.nanoseconds }) ?? true {
            saidAt = now
            let reason = String("\(error)".prefix(300))
            logger.warning("a message could not be read", metadata: [LogKey.error: "\(reason)", "count": "\(count)"])
            sentence = "\(count) or more messages could not be read, lately: \(reason)"
        }
        health.report(.degraded, sentence, for: "malformed", lasting: Self.interval.duration)
    }
}
