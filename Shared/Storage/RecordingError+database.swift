import Files
import GRDB
import Recording
package import SystemPackage

extension RecordingError {
    /// Creates an error from SQLite's, with advice for a person.
    ///
    /// - Parameters:
    ///   - action: the failed action, to be read after "Could not".
    ///   - cure: advice for a damaged database, in sentences.
    package init(_ error: any Error, action: String, database path: FilePath, whenDamaged cure: String) {
        if let error = error as? RecordingError {
            self = error
            return
        }
        let answer = error as? DatabaseError
        let code: Code
        let advice: String
        switch answer?.resultCode {
        case .SQLITE_FULL?:
            (code, advice) = (.noSpace, "Nothing was changed. Free some space.")
        case .SQLITE_READONLY?, .SQLITE_PERM?, .SQLITE_AUTH?, .SQLITE_CANTOPEN?:
            (code, advice) = (.notPermitted, "Make it writable for this user, or choose another data directory.")
        case .SQLITE_BUSY?, .SQLITE_LOCKED?:
            (code, advice) = (.locked, "Close the other program that has the database open.")
        case .SQLITE_CORRUPT?, .SQLITE_NOTADB?, nil:
            (code, advice) = (.unreadable, "It is left as it is. \(cure)")
        default:
            (code, advice) = (.inputOutput, "Check the system's log for trouble with this disk.")
        }
        let reason = answer.map { $0.message ?? "\($0.resultCode)" } ?? "\(error)"
        self.init(code, action: action, path: path, reason: reason, advice: advice)
    }
}
