package import Messages
package import Recording
package import ServiceKit

/// The configurations that log-manager gave for logs, and whether log-manager is unreachable. Pure: times are given.
package struct LogConfigurations {
    /// The answers to one round of queries.
    package struct Answers: Sendable {
        /// The configuration of each log that was answered for; nil for a log that was not added.
        package var configurations: [LogName: LogConfiguration?] = [:]
        /// Whether a query was not answered in time.
        package var isAway = false

        package init(isAway: Bool = false) { self.isAway = isAway }

        package mutating func add(_ other: Answers) {
            configurations.merge(other.configurations) { _, last in last }
            isAway = isAway || other.isAway
        }
    }

    /// How long an answer, or the lack of one, is valid. Then log-manager is asked again.
    package static let life = TimeSpan.seconds(10)
    /// Longest delay until changed limits apply to a log that is being written.
    package static let lifeWhileWritten = TimeSpan.seconds(60)
    /// Most logs that are remembered: a stranger could describe streams with ever new names.
    private static let maximumNames = 4_096

    private var known: [LogName: (configuration: LogConfiguration?, time: Int64)] = [:]
    /// When log-manager was found to be unreachable; nil while it answers.
    package private(set) var awaySince: Int64?

    package init() {}

    package subscript(name: LogName) -> LogConfiguration? { known[name]?.configuration }

    /// Whether log-manager failed to answer lately, so that no start should wait for it. This holds twice as long as the pause
    /// between queries: a query in the background notices in time that log-manager is back, and no recording waits.
    package func isAway(at time: Int64) -> Bool {
        awaySince.map { time - $0 < 2 * Self.life.nanoseconds } ?? false
    }

    /// Whether log-manager is to be asked about a log.
    /// - Parameter age: minimum age of the last answer, or of the lack of one.
    package func isDue(_ name: LogName, at time: Int64, age: TimeSpan = life) -> Bool {
        if let awaySince, time - awaySince < age.nanoseconds { return false }
        return known[name].map { time - $0.time >= age.nanoseconds } ?? true
    }

    /// Whether a log can be begun with the configuration known so far.
    package func isSettled(_ name: LogName, at time: Int64) -> Bool { known[name] != nil || isAway(at: time) }

    package mutating func take(_ answers: Answers, at time: Int64) {
        if known.count + answers.configurations.count > Self.maximumNames { known = [:] }
        for (name, configuration) in answers.configurations { known[name] = (configuration, time) }
        awaySince = answers.isAway ? time : nil
    }
}
