package import Messages

/// Which sessions run, as far as their recorders say so: they publish an event of each one that runs every second.
package struct RunningSessions {
    /// Sessions that are known to run: a stranger could publish under ever new names.
    private static let maximum = 1_000

    /// How long a session counts as running after an event of it, in nanoseconds.
    package let life: Int64
    /// When each session was heard of, on the monotonic clock.
    private var heard: [String: Int64] = [:]

    package init(life: Int64) { self.life = life }

    /// Takes an event of a session.
    /// - Returns: whether a session runs since then that did not before.
    package mutating func note(_ event: RecordingEvent, at now: Int64) -> Bool {
        let isFailed = event.change == .failure && event.stream == nil
        let isOver = SessionStatus(rawValue: event.status)?.isOver == true
        if isFailed || isOver || event.report != nil || event.change == .discard {
            heard[event.session] = nil
            return false
        }
        let isNew = heard[event.session] == nil
        guard event.change != .annotation, !isNew || heard.count < Self.maximum else { return false }
        heard[event.session] = now
        return isNew
    }

    /// The sessions that run, sorted.
    package mutating func names(at now: Int64) -> [String] {
        heard = heard.filter { now - $0.value < life }
        return heard.keys.sorted()
    }

    /// When the first session ends of which nothing more is heard, on the monotonic clock; nil without sessions.
    package var nextSilence: Int64? { heard.values.min()?.addingClamped(life) }
}
