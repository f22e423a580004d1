package import Messages
package import ServiceKit

extension StepCounting {
    /// Work for the caller. Some cases name methods to call with the result.
    package enum Effect: CoreEffect, Sendable {
        // The history, one after the other

        /// Store all of the commit or, after an error, nothing, with the history's date; then call `committed`.
        case commit(StepCommit, at: WallTime)
        /// Remove what is too old or belongs to discarded sessions; then call `removed`.
        case remove(Removal)

        // Publishers

        case subscribe(String)
        /// Request a stream's missing samples until none is missing, with `missing`, `take` and `giveUp`.
        case recover(StreamName)

        indirect case notice(Notice)
    }

    /// The removal of old data, and of the steps of discarded sessions.
    package struct Removal: Hashable, Sendable {
        /// Steps made before this date are removed, and spans that ended before it.
        package var steps: WallTime
        /// Positions last committed before this date are removed. The streams of this run keep theirs, even if they are silent.
        package var positions: WallTime
        /// The history's clock, to be stored.
        package var clock: HistoryClock.State

        package init(steps: WallTime, positions: WallTime, clock: HistoryClock.State) {
            self.steps = steps
            self.positions = positions
            self.clock = clock
        }
    }

    /// A stream that cannot be counted.
    package struct Refusal {
        var reason: String
        /// When it was last described, on the monotonic clock in nanoseconds.
        var heard: Int64
    }
}
