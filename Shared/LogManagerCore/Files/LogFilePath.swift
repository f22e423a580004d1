package import Recording

/// The path of a finished stream file under the data directory: `recordings/<session>/<file>`.
///
/// Everything else is refused: absolute paths, `.` and `..`, empty parts, and names that are not those of finished files.
package struct LogFilePath: Hashable, Sendable, CustomStringConvertible {
    package let session: SessionIdentifier
    package let name: FinishedName

    package init(session: SessionIdentifier, name: FinishedName) {
        self.session = session
        self.name = name
    }

    /// Parses a path.
    /// - Throws: `Refusal`, with what is wrong with the path.
    package init(_ text: String) throws(Refusal) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Array($0) }
        if parts.first?.isEmpty ?? true {
            throw Refusal("it is not a path under the data directory; write \(Self.form)")
        }
        guard parts.count == 3, parts[0] == Array(SessionDirectory.recordingsName.utf8) else {
            throw Refusal("it is not the path of a stream file; write \(Self.form)")
        }
        guard let session = try? SessionIdentifier(String(decoding: parts[1], as: UTF8.self)) else {
            throw Refusal("no session can have that name; write \(Self.form)")
        }
        guard let name = FinishedName(fileName: parts[2]) else {
            throw Refusal("no finished stream file has such a name; write \(Self.form)")
        }
        self.init(session: session, name: name)
    }

    private static let form = "\(SessionDirectory.recordingsName)/<session>/<file>, as logs.list has it"

    /// The path as text, in the form that `init(_:)` parses.
    package var description: String { "\(SessionDirectory.recordingsName)/\(session)/\(name)" }
}
