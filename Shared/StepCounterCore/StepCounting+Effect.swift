package import Messages
package import ServiceKit

extension StepCounting {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // The history, one after the other

        /// Store all of it or, after an error, nothing, with the history's date: `committed`.
        case commit(StepCommit, at: WallTime)
        /// Remove what is too old, and what is of sessions that were discarded: `removed`.
        case remove(Removal)

        // Publishers

        /// Subscribe to a topic.
        case subscribe(String)
        /// Request a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(StreamName)

        indirect case notice(Notice)
    }

    /// What is too old, in the history, and what is of sessions that were discarded.
    package struct Removal: Hashable, Sendable {
        /// Steps made before it are removed, and spans that ended before it.
        package var steps: WallTime
        /// Positions of streams that were last committed before it are removed. This run's streams keep theirs, however long
        /// they are silent.
        package var positions: WallTime
        /// What to store of the history's clock.
        package var clock: HistoryClock.State

        package init(steps: WallTime, positions: WallTime, clock: HistoryClock.State) {
            self.steps = steps
            self.positions = positions
            self.clock = clock
        }
    }

    /// A stream that can't be counted.
    package struct Refusal {
        var reason: String
        /// When it was last described, on the monotonic clock.
        var heard: Int64
    }
}
