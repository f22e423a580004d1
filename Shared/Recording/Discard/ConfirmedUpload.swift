import Files
package import Messages
package import SystemPackage

/// What a recorder reads of an archiver's receipt, `archives/<session>.receipt.json`: that a session's upload was confirmed.
package struct ConfirmedUpload: Decodable, Sendable {
    package static let archivesName = "archives"
    package static let receiptSuffix = ".receipt.json"
    /// Ends the name of what was noted of archives that are not uploaded yet.
    package static let recordSuffix = ".archive.json"

    private let session: SessionIdentifier
    private let startDate: WallTime?
    /// When the receiver confirmed it.
    package let date: WallTime
    /// When making the archive began. Older archivers did not note it.
    private let made: WallTime?

    /// What was confirmed of a session of this name, which may be an earlier one; nil if nothing was.
    package static func newest(of name: SessionIdentifier, in data: FilePath) -> ConfirmedUpload? {
        let archives = Directory(data.appending(archivesName))
        let receipt = try? StoredJSON.read(ConfirmedUpload.self, from: name.text + receiptSuffix, in: archives)
        return receipt?.session == name ? receipt : nil
    }

    /// What was confirmed of a session; nil if nothing was.
    package static func read(of record: SessionRecord, in data: FilePath) -> ConfirmedUpload? {
        newest(of: record.session, in: data).flatMap { $0.isOfSession(from: record.startDate) ? $0 : nil }
    }

    /// Whether an annotation came too late for what was uploaded.
    package func lacks(one annotations: [Annotation]) -> Bool {
        let end = made.map { min($0, date) } ?? date
        return annotations.contains { $0.date >= end }
    }

    /// Whether it is of the session that started then, and not of an earlier one of its name.
    package func isOfSession(from start: WallTime) -> Bool { start.isStart(noted: startDate, on: date) }
}

extension WallTime {
    /// Whether what an archiver noted of a session is of the one that started now: when a session is removed, another one may get its
    /// name, and the notes of the first stay.
    /// - Parameters:
    ///   - start: when the session of the note started. Older archivers did not note it; theirs are of an earlier session if they
    ///     were written before this one started.
    ///   - date: when it was noted.
    package func isStart(noted start: WallTime?, on date: WallTime) -> Bool {
        start.map { $0 == self } ?? (date >= self)
    }
}
