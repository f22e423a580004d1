package import Files
package import Messages

/// A session's name, safe as the name of a directory: 1 to 128 ASCII letters, digits, "-", "_" and ".", and not "." or
/// "..".
package struct SessionIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    private static let maximumBytes = 128
    /// How the names of the write-ahead logs, locks and reserves begin.
    private static let ownPrefixes = [".wal", ".lock", ".reserve"]

    /// - Throws: `invalidParameter` if `text` is not a valid name.
    package init(_ text: String) throws(RecordingError) {
        guard Self.isValid(text) else {
            throw RecordingError(
                .invalidParameter, action: "use \"\(text.prefix(Self.maximumBytes))\" as a session's name",
                reason: "it can't be the name of a directory",
                advice: "Use 1 to \(Self.maximumBytes) letters (a to z), digits, \"-\", \"_\" and \".\".")
        }
        self.text = text
    }

    /// A name for a new session.
    ///
    /// - Throws: `invalidParameter` if `text` is not a valid name, or is that of a recorder's own file or directory beside its
    ///   sessions.
    package init(new text: String) throws(RecordingError) {
        try self.init(text)
        guard text != DiscardedSession.fileName, !Self.ownPrefixes.contains(where: text.hasPrefix) else {
            throw RecordingError(
                .invalidParameter, action: "use \"\(text)\" as a session's name",
                reason: "the recorder has files of its own with such a name", advice: "Choose another name.")
        }
    }

    /// A name for a session without one, such as `20261121T025501Z-3f9a`.
    ///
    /// - Parameter random: makes the name differ from others of the same second.
    package init(startedAt date: WallTime, random: UInt16) {
        let stamp = FinishedName.stamp(of: date)
        let digits = [UInt8(random >> 8), UInt8(random & 0xFF)].hexDigits
        text = "\(stamp.prefix(8))T\(stamp.dropFirst(8))Z-\(digits)"
    }

    package var description: String { text }

    package static func < (one: SessionIdentifier, other: SessionIdentifier) -> Bool {
        one.text < other.text
    }

    private static func isValid(_ text: String) -> Bool {
        guard (1...maximumBytes).contains(text.utf8.count), text != ".", text != ".." else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
            default: false
            }
        }
    }
}

extension SessionIdentifier: RawRepresentable, Codable {
    package var rawValue: String { text }

    package init?(rawValue: String) {
        guard Self.isValid(rawValue) else { return nil }
        text = rawValue
    }
}
