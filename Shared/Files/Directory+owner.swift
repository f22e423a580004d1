import Glibc
package import SystemPackage

extension Directory {
    /// If this process is root, gives a file that it created in the directory the directory's owner and group.
    /// Otherwise, the programs' user could not open what root created.
    package func giveOwner(to file: FileDescriptor) {
        guard geteuid() == 0, let owner = try? path.stat() else { return }
        _ = fchown(file.rawValue, owner.userID.rawValue, owner.groupID.rawValue)
    }

    /// Gives the directory, and those of its entries that this process's user owns, the owner and the group of another
    /// directory. Otherwise, the programs' user could not read what root created. When this returns, the change survives a power
    /// cut.
    ///
    /// If this user may not change the owner, only the group changes.
    /// - Throws: `notPermitted` if neither the owner nor the group can be set, and the directory's owner differs.
    package func takeOwner(of other: Directory, calls: FileCalls = .system) throws(RecordingError) {
        let wanted = try Self.status(of: other.path)
        let (owner, group) = (wanted.userID.rawValue, wanted.groupID.rawValue)
        let entries = try names().map { path.appending($0) }
        for entry in [path] + entries {
            let found = try Self.status(of: entry)
            guard found.userID != wanted.userID || found.groupID != wanted.groupID else { continue }
            guard entry == path || found.userID.rawValue == geteuid() else { continue }
            let file = try OpenFile(entry, .readOnly, options: .noFollow, action: "open", calls: calls)
            let descriptor = file.descriptor.rawValue
            // The largest number stands for the present owner.
            if fchown(descriptor, owner, group) != 0, fchown(descriptor, uid_t.max, group) != 0 {
                let failure = Errno.last
                // The owner may have left the group.
                if found.userID == wanted.userID { continue }
                throw RecordingError(
                    .notPermitted, action: "change the owner of", path: entry, errno: failure,
                    advice: "Run the command as the user that owns \(other.path): runuser -u USER -- recorder …")
            }
            try file.syncAll()
        }
    }

    private static func status(of path: FilePath) throws(RecordingError) -> Stat {
        try SystemCall.attempt("look at", path) { () throws(Errno) in try path.stat() }
    }
}
