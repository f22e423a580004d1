import Messages

/// Decides when sessions begin, are extended, and end: triggers and time in, actions out.
///
/// A pure value. Times are nanoseconds of one monotonic clock. A trigger has the time of its sample, which may be long past if
/// the sample was replayed. A session begins `before` its first trigger and ends `after` its last. A trigger belongs to an open
/// session, unless the session began too late to have the time before the trigger.
package struct TriggeredSessions: Sendable {
    package enum Action: Hashable, Sendable {
        /// Start a session that begins at `from`: `started`. The recorder must end it by itself at `limit`.
        case start(String, from: Int64, limit: Int64)
        /// Postpone the end of a session in the recorder: `extended`.
        case extend(String, limit: Int64)
        /// End a session: `stopped`.
        case stop(String)
    }

    private struct Open {
        let name: String
        let from: Int64
        /// When to stop the session.
        var end: Int64
        /// When the recorder ends the session by itself, according to the last request.
        var limit: Int64
        var isStarted = false
        var isExtending = false
        /// Whether a trigger came since the last request to the recorder.
        var isExtensionDue = false
        /// The first trigger since the recorder last confirmed that the session runs.
        var unconfirmed: Int64?

        /// A session that is being extended may have ended by itself; then triggers since begin another one.
        var canStop: Bool { isStarted && !isExtending }
    }

    /// How long a session outlives a killed watch, at most; and how far a watch may be behind.
    package static let slack: Int64 = 10_000_000_000
    /// Most sessions that are open at the same time. There are several only if samples were replayed late.
    private static let maximumOpen = 8
    /// Most sessions that are being ended at the same time; the next one waits.
    private static let maximumEnding = 64

    private let before: Int64
    private let after: Int64
    /// Most sessions in all.
    private let limit: Int
    private var open: [Open] = []
    private var ending: Set<String> = []
    private var begun = 0
    private var isStopping = false
    /// The actions to carry out, in this order.
    private var actions: [Action] = []

    /// - Parameters:
    ///   - before: nanoseconds that a session begins before its first trigger.
    ///   - after: nanoseconds that a session ends after its last trigger.
    ///   - limit: most sessions; nil for any number.
    package init(before: Int64, after: Int64, limit: Int? = nil) {
        self.before = before
        self.after = after
        self.limit = limit ?? .max
    }

    /// Whether no session is open or being ended.
    package var isIdle: Bool { open.isEmpty && ending.isEmpty }

    /// The open sessions and those being ended, in the order of their names.
    package var unfinished: [String] { (open.map(\.name) + ending).sorted() }

    /// Whether no more events can change anything.
    package var isOver: Bool { isIdle && (begun >= limit || isStopping) }

    /// When `wake` is due.
    package var nextDeadline: Int64 {
        guard ending.count < Self.maximumEnding else { return .max }
        return open.filter(\.canStop).map(\.end).min() ?? .max
    }

    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    /// Takes a trigger.
    /// - Parameter name: makes the name of a new session.
    /// - Returns: the trigger's session, and whether it is new; nil if no more sessions may begin.
    package mutating func trigger(
        at instant: Int64, now: Int64, named name: () -> String
    ) -> (session: String, isNew: Bool)? {
        wake(at: now)
        let from = instant.subtractingClamped(before)
        let end = instant.addingClamped(after)
        if let index = index(for: from) {
            open[index].end = max(open[index].end, end)
            open[index].unconfirmed = open[index].unconfirmed ?? instant
            open[index].isExtensionDue = true
            extend(index)
            return (open[index].name, false)
        }
        guard begun < limit, !isStopping else { return nil }
        begun += 1
        return (begin(from: from, end: end, now: now, named: name), true)
    }

    private mutating func begin(from: Int64, end: Int64, now: Int64, named name: () -> String) -> String {
        let session = Open(name: name(), from: from, end: end, limit: max(end, now).addingClamped(Self.slack))
        open.append(session)
        actions.append(.start(session.name, from: from, limit: session.limit))
        return session.name
    }

    /// Notes that a triggered expression still holds.
    package mutating func hold(at instant: Int64, now: Int64) {
        guard let index = index(for: instant.subtractingClamped(before)) else { return }
        open[index].end = max(open[index].end, instant.addingClamped(after))
        if open[index].unconfirmed == nil, needsMore(open[index]) { open[index].unconfirmed = instant }
        extend(index)
    }

    /// The latest open session that has everything from a time on; the latest of all if too many are open.
    private func index(for from: Int64) -> Int? {
        open.lastIndex { $0.from <= from } ?? (open.count >= Self.maximumOpen ? open.indices.last : nil)
    }

    /// Whether the recorder would end a session before `slack / 2` after the session's end.
    private func needsMore(_ session: Open) -> Bool { session.end.addingClamped(Self.slack / 2) > session.limit }

    private mutating func extend(_ index: Int) {
        let session = open[index]
        guard session.isStarted, !session.isExtending else { return }
        guard session.isExtensionDue || needsMore(session) && !isStopping else { return }
        open[index].limit = max(session.limit, session.end.addingClamped(Self.slack))
        open[index].isExtending = true
        open[index].isExtensionDue = false
        actions.append(.extend(session.name, limit: open[index].limit))
    }

    /// Ends sessions whose time has passed.
    package mutating func wake(at now: Int64) {
        for session in open where session.canStop && (now >= session.end || isStopping) {
            guard ending.count < Self.maximumEnding || isStopping else { return }
            stop(session.name)
        }
    }

    private mutating func stop(_ name: String) {
        open.removeAll { $0.name == name }
        if ending.insert(name).inserted { actions.append(.stop(name)) }
    }

    /// Takes the result of starting a session.
    package mutating func started(_ name: String, isRunning: Bool, now: Int64) {
        guard let index = open.firstIndex(where: { $0.name == name }) else { return }
        if isRunning {
            open[index].isStarted = true
            if !open[index].isExtensionDue { open[index].unconfirmed = nil }
            extend(index)
            wake(at: now)
        } else {
            open.remove(at: index)
        }
    }

    /// Takes the result of extending a session. If the session has already ended, triggers since then begin another one.
    package mutating func extended(_ name: String, isRunning: Bool, now: Int64, named newName: () -> String) {
        guard let index = open.firstIndex(where: { $0.name == name }) else { return }
        open[index].isExtending = false
        if isRunning {
            if !open[index].isExtensionDue { open[index].unconfirmed = nil }
            extend(index)
            wake(at: now)
        } else {
            let unconfirmed = open[index].unconfirmed
            let end = open[index].end
            stop(name)
            // Even if the watch is stopping: the trigger was reported as recorded.
            if let unconfirmed {
                _ = begin(from: unconfirmed.subtractingClamped(before), end: end, now: now, named: newName)
            }
        }
    }

    /// Notes that a session is over.
    package mutating func stopped(_ name: String) { ending.remove(name) }

    /// Ends all sessions.
    package mutating func stopAll(at now: Int64) {
        isStopping = true
        wake(at: now)
    }
}
