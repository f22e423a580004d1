package import Messages
package import ServiceKit

extension TriggerWatch {
    /// Work that the caller carries out. Where a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        /// Have a stream's missing samples replayed until none is missing: `missing`, `take`, `giveUp`.
        case recover(StreamName)
        /// Start a session that begins at a date, and that the recorder ends by itself at `until`: `started`.
        case start(String, from: WallTime, until: WallTime)
        /// Have the recorder end a session later: `extended`.
        case extend(String, until: WallTime)
        /// End a session: `stopped`.
        case stop(String)
        /// Save a time of the session with a ring from removal: `kept`.
        case keep(from: WallTime, to: WallTime)
        /// Print a line.
        case say(String)
        case notice(Notice)
    }
}
