/// Where a session's recording stands. A status only ever rises.
///
/// The words and their order are the ancestors', without those that a session never has: it exists from its start, asks nobody
/// for permission, and its files are finished with its results. Any forward jump is legal; a step back or a repeat is ignored, so
/// that a late report of an earlier stage can't undo a cancellation or a failure.
package enum SessionStatus: String, Codable, Sendable, Comparable, CaseIterable, CustomStringConvertible {
    case starting, running, waitingToStop, processingResults, finished, cancelled, failed

    package var description: String { rawValue }

    /// Whether nothing more will be recorded and every file is closed or about to be.
    package var isOver: Bool { self >= .finished }

    /// Whether samples that arrive are recorded. Asked for each message, so nothing is looked up.
    package var isRecording: Bool { self == .running || self == .starting || self == .waitingToStop }

    /// Moves on to `next` if that is higher.
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
