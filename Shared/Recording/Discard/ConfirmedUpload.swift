import Files
package import Messages
package import SystemPackage

/// The part of an archiver's receipt, `archives/<session>.receipt.json`, that a recorder reads: that a session's upload was
/// confirmed.
package struct ConfirmedUpload: Decodable, Sendable {
    package static let archivesName = "archives"
    package static let receiptSuffix = ".receipt.json"
    /// Suffix of an archiver's record of archives that are not uploaded yet.
    package static let recordSuffix = ".archive.json"

    private let session: SessionIdentifier
    private let startDate: WallTime?
    /// When the receiver confirmed the upload.
    package let date: WallTime
    /// When making the archive began. Older archivers did not record it.
    private let made: WallTime?
    /// The highest number of an annotation in the archives. Older archivers did not record it.
    private let lastAnnotation: Int?
    private let leftOut: [LeftOut]?
    private let files: [File]?

    private struct LeftOut: Decodable {
        let filename: String
    }

    private struct File: Decodable {
        let name: String
    }

    /// The stream files that the receiver has.
    package var archived: Set<String> { Set((files ?? []).map(\.name)) }

    /// Files of the session that could not be archived: the receiver does not have them.
    package var unarchived: [String] { (leftOut ?? []).map(\.filename) }

    /// The receipt for a session of this name, which may be an earlier session; nil if there is none.
    package static func newest(of name: SessionIdentifier, in data: FilePath) -> ConfirmedUpload? {
        let archives = Directory(data.appending(archivesName))
        let receipt = try? StoredJSON.read(ConfirmedUpload.self, from: name.text + receiptSuffix, in: archives)
        return receipt?.session == name ? receipt : nil
    }

    /// The receipt for a session; nil if there is none.
    package static func read(of record: SessionRecord, in data: FilePath) -> ConfirmedUpload? {
        newest(of: record.session, in: data).flatMap { $0.isOfSession(from: record.startDate) ? $0 : nil }
    }

    /// Whether an annotation came too late for the upload.
    package func lacks(one annotations: [Annotation]) -> Bool {
        // The clock may have been set since the archive was made; numbers always rise.
        if let lastAnnotation { return annotations.contains { $0.number > lastAnnotation } }
        let end = made.map { min($0, date) } ?? date
        return annotations.contains { $0.date >= end }
    }

    /// Whether the receipt is for the session that started then, not for an earlier one of its name.
    package func isOfSession(from start: WallTime) -> Bool { start.isStart(noted: startDate, on: date) }
}

extension WallTime {
    /// Whether an archiver's record is about the session that started at this time. When a session is removed, another one may
    /// get its name, and the records of the first one stay.
    /// - Parameters:
    ///   - start: when the record's session started. Older archivers did not record it; their records are about an earlier
    ///     session if they were written before this one started.
    ///   - date: when the record was written.
    package func isStart(noted start: WallTime?, on date: WallTime) -> Bool {
        start.map { $0 == self } ?? (date >= self)
    }
}
