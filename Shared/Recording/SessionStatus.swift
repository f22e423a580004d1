/// Where a session's recording stands. A status only ever rises.
///
/// The words and their order are the ancestors'. Any forward jump is legal (`idle` to `failed`, say); a step back or a
/// repeat is ignored, so that a late report of an earlier stage can't undo a cancellation or a failure.
package enum SessionStatus: Int, Sendable, Comparable, CaseIterable, CustomStringConvertible {
    case idle, requestingPermission, permissionGranted, starting, running, waitingToStop, processingResults, stopping,
        finished, cancelled, failed

    private static let names = [
        "idle", "requestingPermission", "permissionGranted", "starting", "running", "waitingToStop",
        "processingResults", "stopping", "finished", "cancelled", "failed",
    ]

    /// The word for it, as replies, events and files have it.
    package var name: String { Self.names[rawValue] }

    package var description: String { name }

    /// The status of that name.
    package init?(name: String) {
        guard let index = Self.names.firstIndex(of: name) else { return nil }
        self.init(rawValue: index)
    }

    /// Whether nothing more will be recorded and every file is closed or about to be.
    package var isOver: Bool { self >= .finished }

    /// Moves on to `next` if that is higher.
    ///
    /// - Returns: whether it moved.
    @discardableResult
    package mutating func rise(to next: SessionStatus) -> Bool {
        guard next > self else { return false }
        self = next
        return true
    }

    /// Refuses a second start.
    ///
    /// - Throws: `finished` once the session is over, `alreadyRunning` from `starting` on.
    package func checkStart(of session: SessionIdentifier) throws(RecordingError) {
        if isOver {
            throw RecordingError(
                .finished, action: "start session \(session)", reason: "it is \(name)",
                advice: "Start a session of another name; each is recorded once.")
        }
        if self > .permissionGranted {
            throw RecordingError(
                .alreadyRunning, action: "start session \(session)", reason: "it is \(name)",
                advice: "Stop it first, or start a session of another name.")
        }
    }

    package static func < (one: SessionStatus, other: SessionStatus) -> Bool {
        one.rawValue < other.rawValue
    }
}

extension SessionStatus: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let status = SessionStatus(name: name) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(name)\" is no status.")
        }
        self = status
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}
