import Files
import SystemPackage

extension Directory {
    /// The directory of archives in a data directory, with an archive of the session `walk-1` that was not uploaded.
    static func withArchive(in data: FilePath) throws -> Directory {
        let archives = Directory(data.appending("archives"))
        try archives.create()
        try archives.replace("walk-1.zip", with: [1])
        return archives
    }
}
