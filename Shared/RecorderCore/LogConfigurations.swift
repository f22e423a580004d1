package import Messages
package import Recording
package import ServiceKit

/// What log-manager said of logs, and whether it is away. Pure: times are given.
package struct LogConfigurations {
    /// What one round of questions brought.
    package struct Answers: Sendable {
        /// What is known of each log that was answered for; nil for one that was not added.
        package var configurations: [LogName: LogConfiguration?] = [:]
        /// Whether some question was not answered in time.
        package var isAway = false

        package init(isAway: Bool = false) { self.isAway = isAway }

        package mutating func add(_ other: Answers) {
            configurations.merge(other.configurations) { _, last in last }
            isAway = isAway || other.isAway
        }
    }

    /// How long an answer holds, and so does the lack of one. Then it is time to ask again.
    package static let life = TimeSpan.seconds(10)
    /// How soon a log that is being written has limits that were changed.
    package static let lifeWhileWritten = TimeSpan.seconds(60)
    /// Logs that are remembered: a stranger could describe streams of ever new names.
    private static let maximumNames = 4_096

    private var known: [LogName: (configuration: LogConfiguration?, time: Int64)] = [:]
    /// When log-manager was found to be away; nil while it answers.
    package private(set) var awaySince: Int64?

    package init() {}

    package subscript(name: LogName) -> LogConfiguration? { known[name]?.configuration }

    /// Whether log-manager did not answer lately, so that nobody should wait for it. For longer than it is not asked:
    /// who asks in the background finds out in time, and a recording need not.
    package func isAway(at time: Int64) -> Bool {
        awaySince.map { time - $0 < 2 * Self.life.nanoseconds } ?? false
    }

    /// Whether a log is to be asked for.
    /// - Parameter age: how old the answer must be, or the lack of one.
    package func isDue(_ name: LogName, at time: Int64, age: TimeSpan = life) -> Bool {
        if let awaySince, time - awaySince < age.nanoseconds { return false }
        return known[name].map { time - $0.time >= age.nanoseconds } ?? true
    }

    /// Whether a log can be begun with what is known.
    package func isSettled(_ name: LogName, at time: Int64) -> Bool { known[name] != nil || isAway(at: time) }

    package mutating func take(_ answers: Answers, at time: Int64) {
        if known.count + answers.configurations.count > Self.maximumNames { known = [:] }
        for (name, configuration) in answers.configurations { known[name] = (configuration, time) }
        awaySince = answers.isAway ? time : nil
    }
}
