/// Knows which step a session was in, and whether it was paused, at any time since its start.
///
/// A sample gets the step that was valid when it was taken, however late it arrives; at exactly a change's time the new
/// state counts. Times before the first change have the initial state, times after the last change have the last one.
/// All times are nanoseconds since the session's start, and changes come in order: one that claims to be earlier than
/// the last takes effect at the last's time.
package struct SessionTimeline: Hashable, Sendable {
    package struct State: Hashable, Sendable {
        package var stepPath: String
        /// Whether samples taken now are left out of the logs.
        package var isPaused: Bool
    }

    private struct Change: Hashable, Sendable {
        var time: Int64
        var state: State
    }

    /// The task's name, the first part of each step path; may be empty.
    package let task: String

    /// In order of time, each later than the one before. The first holds from the beginning of time.
    private var changes: [Change]

    package init(task: String, step: String) {
        self.task = task
        changes = [Change(time: .min, state: State(stepPath: Self.path(task: task, step: step), isPaused: false))]
    }

    /// "task/step"; if one is empty, the other; if both are, nothing.
    package static func path(task: String, step: String) -> String {
        if task.isEmpty { return step }
        return step.isEmpty ? task : "\(task)/\(step)"
    }

    package var current: State { changes[changes.count - 1].state }

    package mutating func move(to step: String, at time: Int64) {
        let path = Self.path(task: task, step: step)
        change(at: time) { $0.stepPath = path }
    }

    /// Pauses the session.
    ///
    /// - Returns: `false`, and nothing changes, if it is paused.
    @discardableResult
    package mutating func pause(at time: Int64) -> Bool {
        guard !current.isPaused else { return false }
        change(at: time) { $0.isPaused = true }
        return true
    }

    /// Continues after a pause.
    ///
    /// - Returns: `false`, and nothing changes, if it is not paused.
    @discardableResult
    package mutating func resume(at time: Int64) -> Bool {
        guard current.isPaused else { return false }
        change(at: time) { $0.isPaused = false }
        return true
    }

    /// The state at `time`, and the times, both included, over which it is the same.
    package func span(at time: Int64) -> (times: ClosedRange<Int64>, state: State) {
        let index = index(at: time)
        let end = index + 1 < changes.count ? changes[index + 1].time - 1 : .max
        return (changes[index].time...end, changes[index].state)
    }

    private mutating func change(at time: Int64, _ body: (inout State) -> Void) {
        var state = current
        body(&state)
        let last = changes.count - 1
        if time > changes[last].time {
            changes.append(Change(time: time, state: state))
        } else {
            changes[last].state = state
        }
    }

    /// The last change that is not after `time`. A binary search: sessions may have thousands of steps.
    private func index(at time: Int64) -> Int {
        var low = 0
        var high = changes.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if changes[middle].time <= time { low = middle } else { high = middle }
        }
        return low
    }
}

extension SessionTimeline {
    package init(_ record: SessionRecord) {
        self.init(task: record.task, step: record.step)
        for change in record.changes {
            let time = Int64((change.timestamp * 1e9).rounded())
            switch change.event {
            case .pause: pause(at: time)
            case .resume: resume(at: time)
            default: move(to: change.step ?? "", at: time)
            }
        }
    }
}
