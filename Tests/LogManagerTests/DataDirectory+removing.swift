import Messages
import Recording

@testable import LogManagerCore
@testable import LogStorage

extension DataDirectory {
    /// Removes files that are in the ledger, as the log manager does.
    /// - Returns: each file, with the error if it could not be removed.
    func remove(
        _ files: [CatalogFile], of session: SessionIdentifier, reason: RemovalReason, date: WallTime
    ) -> [(file: CatalogFile, refusal: String?)] {
        var piece = RemovalPiece(files, reason: reason, date: date)
        while let step = piece.step { piece.take(carryOut(step, for: piece.stepFiles)) }
        return files.map { ($0, piece.refusals[$0.id] ?? piece.unfinished[$0.id]) }
    }

    /// Bytes of the files being written.
    func currentBytes(of sessions: [SessionIdentifier], at now: WallTime) -> Int {
        current(of: sessions, at: now).values.reduce(0, +)
    }
}
