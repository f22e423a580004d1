package import Messages
package import Recording

/// How logs are written: one rule each for single logs, and for all logs whose name matches a pattern.
package struct LogRules: Hashable, Sendable {
    private var logs: [String: LogConfiguration] = [:]
    /// The most specific first: more literal bytes, then by name.
    private var patterns: [Rule] = []

    private struct Rule: Hashable, Sendable {
        let pattern: LogPattern
        var configuration: LogConfiguration
    }

    package init() {}

    /// The logs with a rule of their own, in alphabetical order.
    package var logNames: [String] { logs.keys.sorted() }
    /// The patterns, in alphabetical order.
    package var patternNames: [String] { patterns.map(\.pattern.text).sorted() }

    /// The rule of exactly this log or pattern.
    package subscript(pattern: LogPattern) -> LogConfiguration? {
        if pattern.log != nil { return logs[pattern.text] }
        return patterns.first { $0.pattern == pattern }?.configuration
    }

    /// The configuration of a log: from its own rule, else from the most specific matching pattern; nil if no rule matches.
    package func configuration(of log: LogName) -> LogConfiguration? {
        if let own = logs[log.text] { return own }
        guard var configuration = patterns.first(where: { $0.pattern.matches(log) })?.configuration else { return nil }
        configuration.name = log.text
        return configuration
    }

    /// Adds a rule, or replaces it.
    package mutating func set(_ configuration: LogConfiguration, for pattern: LogPattern) {
        if pattern.log != nil {
            logs[pattern.text] = configuration
        } else if let index = patterns.firstIndex(where: { $0.pattern == pattern }) {
            patterns[index].configuration = configuration
        } else {
            patterns.append(Rule(pattern: pattern, configuration: configuration))
            patterns.sort { one, other in
                (-one.pattern.literalBytes, one.pattern.text) < (-other.pattern.literalBytes, other.pattern.text)
            }
        }
    }

    package mutating func remove(_ pattern: LogPattern) {
        logs[pattern.text] = nil
        patterns.removeAll { $0.pattern == pattern }
    }
}
