package import Messages
import ServiceKit

/// The history's date, which decides what is too old and is removed.
///
/// The wall clock alone must not decide that: if it jumps a year ahead, everything would be old at once. The history's date
/// advances with the monotonic clock. It follows a small jump of the wall clock at once, as after a night in which the machine
/// was off or slept. It follows a large jump only after the new time has stood for `probation` while the program runs. If the
/// clock returns before, the jump has no effect.
package struct HistoryClock: Hashable, Sendable {
    /// The stored part, with which the clock continues after a restart.
    package struct State: Hashable, Sendable {
        package var date: WallTime
        /// How far the wall clock is ahead of the date since a large jump, in nanoseconds; 0 if they agree.
        package var ahead: Int64
        /// For how long that jump has stood, in nanoseconds.
        package var stood: Int64

        package init(date: WallTime, ahead: Int64 = 0, stood: Int64 = 0) {
            self.date = date
            self.ahead = ahead
            self.stood = stood
        }
    }

    enum Change: Hashable {
        /// It made a large jump.
        case jumped
        /// It returned.
        case returned
        /// It has stood for long enough, and the date follows it.
        case followed
    }

    private(set) var state: State
    /// The last date before a jump that is not trusted yet; nil if the jump was in an earlier run.
    private(set) var jumpDate: WallTime?
    private let largestStep: Int64
    private let probation: Int64
    /// When the state was last updated, on the monotonic clock in nanoseconds.
    private var monotonic: Int64

    /// Continues from a stored state, or begins with the wall clock's date.
    /// - Parameter keep: how long the history is kept, in nanoseconds. Jumps up to a seventh of it, or 60 s, are followed at
    ///   once.
    init(_ stored: State?, keep: Int64, at now: Moment) {
        state = stored ?? State(date: now.date)
        largestStep = max(keep / 7, TimeSpan.seconds(60).nanoseconds)
        probation = min(keep, TimeSpan.seconds(86_400).nanoseconds)
        monotonic = now.monotonic
    }

    /// Whether a large jump of the wall clock is not trusted yet.
    var isDoubtful: Bool { state.ahead != 0 }

    /// For how long the jump must still stand, in nanoseconds.
    var remainingProbation: Int64 { max(0, probation - state.stood) }

    /// The date now: not later than the wall clock's.
    func date(at now: Moment) -> WallTime {
        var clock = self
        _ = clock.advance(to: now)
        return min(clock.state.date, now.date)
    }

    /// Advances the clock.
    /// - Returns: a change of the wall clock, if there was one.
    mutating func advance(to now: Moment) -> Change? {
        let elapsed = max(0, now.monotonic - monotonic)
        let last = state.date
        monotonic = max(monotonic, now.monotonic)
        state.date = state.date.adding(elapsed)
        if isDoubtful { state.stood = state.stood.addingClamped(elapsed) }
        let jump = now.date.distance(from: state.date.adding(state.ahead))
        if jump.magnitude <= largestStep.magnitude {
            state.date = state.date.adding(jump)
        } else {
            let ahead = now.date.distance(from: state.date)
            guard ahead.magnitude > largestStep.magnitude else {
                state = State(date: now.date)
                return .returned
            }
            if !isDoubtful { jumpDate = last }
            (state.ahead, state.stood) = (ahead, 0)
            return .jumped
        }
        guard isDoubtful, state.stood >= probation else { return nil }
        state = State(date: now.date)
        return .followed
    }
}
