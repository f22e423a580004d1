import Messages

/// Decides when sessions begin, last longer, and end: triggers and time in, actions out.
///
/// A pure value. Times are nanoseconds of one monotonic clock; a trigger's is that of its sample, which may be long past if the
/// sample had to be replayed. A session begins `before` its first trigger and ends `after` its last. A trigger belongs to a
/// session that is open, unless it is so late that the session does not have the time before it.
package struct TriggeredSessions: Sendable {
    package enum Action: Hashable, Sendable {
        /// Start a session that begins at a time: `started`. The recorder is to end it by itself at `limit`.
        case start(String, from: Int64, limit: Int64)
        /// Let the recorder end a session later: `extended`.
        case extend(String, limit: Int64)
        /// End a session: `stopped`.
        case stop(String)
    }

    private struct Open {
        let name: String
        let from: Int64
        /// When it is to be stopped.
        var end: Int64
        /// When the recorder ends it by itself, as far as that was asked for.
        var limit: Int64
        var isStarted = false
        var isExtending = false
        /// Whether a trigger came that the recorder was not asked about.
        var isExtensionDue = false
        /// The first trigger since the recorder last said that the session runs.
        var unconfirmed: Int64?

        /// One that is being extended may have ended by itself; then what triggered since begins another.
        var canStop: Bool { isStarted && !isExtending }
    }

    /// A session outlives a watch that is killed by so much at most; and so much can a watch be behind.
    package static let slack: Int64 = 10_000_000_000
    /// Sessions that are open at the same time. There are several only if samples were replayed late.
    private static let maximumOpen = 8
    /// Sessions that are being ended: with so many, the next one waits.
    private static let maximumEnding = 64

    private let before: Int64
    private let after: Int64
    /// How many sessions there may be in all.
    private let limit: Int
    private var open: [Open] = []
    private var ending: Set<String> = []
    private var begun = 0
    private var isStopping = false
    /// What is to be done, in this order.
    private var actions: [Action] = []

    /// - Parameters:
    ///   - before: nanoseconds before the first trigger, and `after` the last one.
    ///   - limit: how many sessions there may be; nil for any number.
    package init(before: Int64, after: Int64, limit: Int? = nil) {
        self.before = before
        self.after = after
        self.limit = limit ?? .max
    }

    /// Whether no session is open, or being ended.
    package var isIdle: Bool { open.isEmpty && ending.isEmpty }

    /// Sessions that are open, or being ended, in the order of their names.
    package var unfinished: [String] { (open.map(\.name) + ending).sorted() }

    /// Whether nothing more can happen.
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
    /// - Parameter name: names a new session.
    /// - Returns: the session that it belongs to, and whether that begins with it; nil if there may be no more.
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

    /// Takes that what triggered is still so.
    package mutating func hold(at instant: Int64, now: Int64) {
        guard let index = index(for: instant.subtractingClamped(before)) else { return }
        open[index].end = max(open[index].end, instant.addingClamped(after))
        if open[index].unconfirmed == nil, needsMore(open[index]) { open[index].unconfirmed = instant }
        extend(index)
    }

    /// The latest open session that has everything from a time on.
    private func index(for from: Int64) -> Int? {
        open.lastIndex { $0.from <= from } ?? (open.count >= Self.maximumOpen ? open.indices.last : nil)
    }

    /// Whether the recorder would end a session soon after the time that it is to have.
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

    /// Ends sessions whose time is over.
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

    /// Takes that a session was started, or could not be.
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

    /// Takes whether a session was extended. One that is over has ended before its time: what triggered since begins another.
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
            // Also if the watch is stopping: it was told that this is recorded.
            if let unconfirmed {
                _ = begin(from: unconfirmed.subtractingClamped(before), end: end, now: now, named: newName)
            }
        }
    }

    /// Takes that a session is over.
    package mutating func stopped(_ name: String) { ending.remove(name) }

    /// Ends everything.
    package mutating func stopAll(at now: Int64) {
        isStopping = true
        wake(at: now)
    }
}
