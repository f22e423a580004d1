/// The status of a session's recording. It only ever advances.
///
/// The words and their order are the ancestors', without those that no session here has: a session exists from its start, needs
/// no permission, and finishes its files with its results. Any forward jump is legal; a step back or a repeat is ignored, so
/// that a late report of an earlier stage can't undo a cancellation or a failure.
package enum SessionStatus: String, Codable, Sendable, Comparable, CaseIterable, CustomStringConvertible {
    case starting, running, waitingToStop, processingResults, finished, cancelled, failed

    package var description: String { rawValue }

    /// Whether nothing more is recorded; every file is closed or about to be.
    package var isOver: Bool { self >= .finished }

    /// Whether arriving samples are recorded. Evaluated for each message, so it does no lookup.
    package var isRecording: Bool { self == .running || self == .starting || self == .waitingToStop }

    /// Advances to `next` and returns true, if that is higher.
    @discardableResult
    package mutating func advance(to next: SessionStatus) -> Bool {
        guard next > self else { return false }
        self = next
        return true
    }

    package static func < (one: SessionStatus, other: SessionStatus) -> Bool {
        allCases.firstIndex(of: one) ?? 0 < allCases.firstIndex(of: other) ?? 0
    }
}
