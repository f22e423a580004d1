package import Messages

/// The step of a session, and whether samples are left out, at any time since the session's start: for all streams, or for one
/// that is recorded only in some steps or was paused by itself.
///
/// A sample gets the step that was valid when it was taken, however late it arrives; at exactly a change's time, the new state
/// applies. Times before the first change have the initial state, times after the last change have the last one. All times are
/// nanoseconds since the session's start, and changes come in order: a change that claims to be earlier than the last takes
/// effect at the last one's time.
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

    /// Why samples are left out.
    private struct Causes: OptionSet, Hashable, Sendable {
        let rawValue: UInt8

        static let session = Causes(rawValue: 1)
        static let stream = Causes(rawValue: 2)
        static let steps = Causes(rawValue: 4)
    }

    /// The task's name, the first part of each step path; may be empty.
    package let task: String
    /// The stream of the timeline; nil for the timeline of all streams without their own.
    package let stream: StreamName?
    /// The steps in which the stream is recorded.
    private let choice: StreamChoice?
    private var step: String
    private var causes: Causes

    /// In order of time, each later than the one before. The first applies from the beginning of time.
    private var changes: [Change]

    package init(task: String, step: String, stream: StreamName? = nil, choice: StreamChoice? = nil) {
        self.task = task
        self.step = step
        self.stream = stream
        self.choice = choice
        causes = choice?.fromStep ?? step == step ? [] : .steps
        let state = State(stepPath: Self.path(task: task, step: step), isPaused: !causes.isEmpty)
        changes = [Change(time: .min, state: state)]
    }

    /// "task/step"; if one is empty, the other; if both are, an empty text.
    package static func path(task: String, step: String) -> String {
        if task.isEmpty { return step }
        return step.isEmpty ? task : "\(task)/\(step)"
    }

    package var current: State { changes[changes.count - 1].state }

    package mutating func move(to next: String, at time: Int64) {
        if let choice, next != step {
            if step == choice.toStep { causes.insert(.steps) }
            if next == choice.fromStep { causes.remove(.steps) }
        }
        step = next
        let path = Self.path(task: task, step: next)
        change(at: time) { $0.stepPath = path }
    }

    /// Pauses the session, or only the stream.
    ///
    /// - Returns: `false` if it is already paused; then nothing changes.
    @discardableResult
    package mutating func pause(_ stream: StreamName? = nil, at time: Int64) -> Bool {
        guard causes.insert(stream == nil ? .session : .stream).inserted else { return false }
        change(at: time)
        return true
    }

    /// Ends a pause of the session, or only of the stream.
    ///
    /// - Returns: `false` if it is not paused; then nothing changes.
    @discardableResult
    package mutating func resume(_ stream: StreamName? = nil, at time: Int64) -> Bool {
        guard causes.remove(stream == nil ? .session : .stream) != nil else { return false }
        change(at: time)
        return true
    }

    /// The state at `time`, and the range of times that have this state.
    package func span(at time: Int64) -> (times: ClosedRange<Int64>, state: State) {
        let index = index(at: time)
        let end = index + 1 < changes.count ? changes[index + 1].time - 1 : .max
        return (changes[index].time...end, changes[index].state)
    }

    private mutating func change(at time: Int64, _ body: (inout State) -> Void = { _ in }) {
        var state = current
        body(&state)
        state.isPaused = !causes.isEmpty
        let last = changes.count - 1
        if time > changes[last].time {
            changes.append(Change(time: time, state: state))
        } else {
            changes[last].state = state
        }
    }

    /// The index of the last change that is not after `time`. A binary search: sessions may have thousands of steps.
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
    /// - Parameter stream: the stream of the timeline; nil for the timeline of all streams without their own.
    package init(_ record: SessionRecord, of stream: StreamName? = nil) {
        self.init(
            task: record.task, step: record.step, stream: stream, choice: stream.flatMap { record.choice(of: $0) })
        for change in record.changes where change.stream == nil || change.stream == stream { take(change) }
    }

    /// Applies a change of the session, or of the timeline's stream.
    /// - Returns: the events to mark in the stream's log.
    @discardableResult
    package mutating func take(_ change: SessionRecord.Change) -> [Marker.Event] {
        let wasPaused = current.isPaused
        let time = Int64(nanosecondsIn: change.timestamp)
        var events: [Marker.Event] = []
        switch change.event {
        case .pause: pause(change.stream, at: time)
        case .resume: resume(change.stream, at: time)
        default:
            move(to: change.step ?? "", at: time)
            events.append(.step)
        }
        if wasPaused != current.isPaused { events.append(wasPaused ? .resume : .pause) }
        return events
    }
}
