import Files
import Foundation
import SystemPackage

extension Directory {
    /// The users and groups that own the directory and its entries.
    var owners: Set<[UInt32]> {
        get throws {
            var owners: Set<[UInt32]> = []
            let entries = try names().map { path.appending($0) }
            for entry in [path] + entries {
                let status = try entry.stat(followTargetSymlink: false)
                owners.insert([status.userID.rawValue, status.groupID.rawValue])
            }
            return owners
        }
    }

    /// Gives the directory and its entries to a user and a group, as root alone may do.
    func give(to user: UInt32, _ group: UInt32) throws {
        let entries = try names().map { path.appending($0) }
        for entry in [path] + entries where lchown(entry.string, user, group) != 0 { throw Errno(rawValue: errno) }
    }
}
