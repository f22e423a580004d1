package import Logging

/// Counts messages that a program could not read and dropped. The log and health report them at most once per interval, because
/// a hostile publisher can send a million a minute. Health drops the report after a minute without one.
package struct MalformedMessages: Sendable {
    /// The minimum time between two log lines, and how long health reports a message.
    private static let interval = TimeSpan.seconds(60)

    private let health: Health
    private let logger: Logger
    package private(set) var count = 0
    private var saidAt: Int64?
    private var sentence = ""

    package init(health: Health, logger: Logger) {
        self.health = health
        self.logger = logger
    }

    /// Counts a message.
    /// - Parameters:
    ///   - error: why the message could not be read.
    ///   - now: an instant of `MonotonicClock`.
    package mutating func note(_ error: any Error, at now: Int64) {
        count += 1
        health.measure(.malformedMessages, count)
        if saidAt.map({ now - $0 >= Self.interval.nanoseconds }) ?? true {
            saidAt = now
            let reason = String("\(error)".prefix(300))
            logger.warning("a message could not be read", metadata: [LogKey.error: "\(reason)", "count": "\(count)"])
            sentence = "\(count) or more messages could not be read, most recently: \(reason)"
        }
        health.report(.degraded, sentence, for: "malformed", lasting: Self.interval.duration)
    }
}
