package import Messages
import ServiceKit

/// The remaining events of a session that is driven from a terminal. Times are since the session's start.
package struct SessionCourse {
    package let session: String
    /// When the session ends; nil if somebody ends it.
    package let duration: Duration?
    /// The steps still to come, the next one first.
    private var remaining: ArraySlice<StepChange>

    package init(of session: String, steps: [StepChange], duration: Duration?) {
        self.session = session
        self.duration = duration
        remaining = steps.sorted { $0.time < $1.time }[...]
    }

    package func isOver(at time: Duration) -> Bool { duration.map { time >= $0 } ?? false }

    /// The time of the next event: a step, or the end.
    package var nextEvent: Duration? { [remaining.first?.time.duration, duration].compactMap(\.self).min() }

    package func stepDue(at time: Duration) -> String? {
        remaining.first.flatMap { $0.time.duration <= time ? $0.step : nil }
    }

    package mutating func finishStep() { remaining = remaining.dropFirst() }

    /// Skips steps that the session's state shows as done: by a program that was killed, or by a request whose reply was lost.
    package mutating func take(_ state: RecordingState, at time: Duration) {
        let done = remaining.lastIndex { change in
            change.time.duration <= time && (state.step == change.step || state.step.hasSuffix("/\(change.step)"))
        }
        if let done { remaining = remaining[(done + 1)...] }
    }
}
