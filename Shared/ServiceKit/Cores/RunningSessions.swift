package import Messages

/// The running sessions, according to their recorders, which publish an event of each running session every second.
package struct RunningSessions {
    /// The maximum number of sessions: a hostile program could publish under new names without end.
    private static let maximum = 1_000

    /// How long a session counts as running after an event of it, in nanoseconds.
    package let life: Int64
    /// The time of the last event of each session, on the monotonic clock.
    private var heard: [String: Int64] = [:]

    package init(life: Int64) { self.life = life }

    /// Takes an event of a session.
    /// - Returns: whether the session started to run with this event.
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

    /// The running sessions, sorted.
    package mutating func names(at now: Int64) -> [String] {
        heard = heard.filter { now - $0.value < life }
        return heard.keys.sorted()
    }

    /// When the first session stops counting as running if it has no more events, on the monotonic clock; nil without sessions.
    package var nextSilence: Int64? { heard.values.min()?.addingClamped(life) }
}
