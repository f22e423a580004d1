package import Messages
package import ServiceKit

extension TriggerWatch {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        /// Request a replay of a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(StreamName)
        /// Start a session that begins at a date and that the recorder ends by itself at `until`: `started`.
        case start(String, from: WallTime, until: WallTime)
        /// Postpone the end of a session in the recorder: `extended`.
        case extend(String, until: WallTime)
        /// End a session: `stopped`.
        case stop(String)
        /// Keep a time range of the session from removal by its ring: `kept`.
        case keep(from: WallTime, to: WallTime)
        case say(String)
        case notice(Notice)
    }
}
