package import Files
import SystemPackage

/// A directory beside a session for files that a fill makes, until `SessionRewrite` has taken them. It is removed with this
/// object.
///
/// A leftover of a kill does not have a session's name; the next fill of the same session, or the next start of a
/// recorder, removes it.
package final class FillScratch {
    package let directory: Directory

    /// - Parameter session: locked with `SessionRewrite.lock`, so that no other fill uses such a directory.
    /// - Throws: `notPermitted` if the session's owner cannot be kept; `noSpace`.
    package init(beside session: SessionDirectory) throws(RecordingError) {
        let path = session.directory.path
        directory = Directory(
            path.removingLastComponent().appending(SessionRewrite.scratchName(path.lastComponent?.string ?? "")))
        if directory.exists { try Directory.removeTree(directory.path) }
        try directory.createExclusively()
        // Before samples are requested, which can take long: the session must keep its owner.
        try directory.takeOwner(of: session.directory)
    }

    deinit { try? Directory.removeTree(directory.path) }
}
