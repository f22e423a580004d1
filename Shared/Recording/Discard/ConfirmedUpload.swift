import Files
package import Messages
package import SystemPackage

/// What a recorder reads of an archiver's receipt, `archives/<session>.receipt.json`: that a session's upload was confirmed.
package struct ConfirmedUpload: Decodable, Sendable {
    package static let archivesName = "archives"
    package static let receiptSuffix = ".receipt.json"

    private let session: SessionIdentifier
    /// When the receiver confirmed it.
    package let date: WallTime

    /// When a session's upload was confirmed; nil if nothing says so.
    package static func date(of session: SessionIdentifier, in data: FilePath) -> WallTime? {
        let archives = Directory(data.appending(archivesName))
        guard
            let receipt = try? StoredJSON.read(
                ConfirmedUpload.self, from: session.text + receiptSuffix, in: archives),
            receipt.session == session
        else { return nil }
        return receipt.date
    }
}
