import Messages
import Recording

@testable import LogManagerCore

/// Finished files on a disk. A power cut may undo unlinks that were not synced.
struct ModelDisk {
    private(set) var files: [ScannedFile] = []
    /// The inodes of the files in the sessions' lists of removed files.
    private var listed: Set<UInt64> = []
    private var unsynced: [ScannedFile] = []
    private var lastInode: UInt64 = 0
    var isMounted = true
    /// Whether there is no room for lists of removed files.
    var isFull = false
    /// Whether syncs of directories fail.
    var failsSyncs = false

    func file(at path: String) -> ScannedFile? {
        guard isMounted, let place = try? LogFilePath(path) else { return nil }
        return files.first { $0.place == place }
    }

    func files(of session: SessionIdentifier) -> [ScannedFile] { files.filter { $0.session == session } }

    var sessions: [SessionIdentifier] {
        isMounted ? Set(files.map(\.session)).sorted() : []
    }

    func isListed(_ file: CatalogFile) -> Bool { listed.contains(file.identity.inode) }

    /// Makes or replaces a file.
    mutating func write(_ place: LogFilePath, bytes: Int, at now: Moment) -> ScannedFile {
        lastInode += 1
        let file = ScannedFile(
            session: place.session, name: place.name,
            identity: FileIdentity(
                device: 1, inode: lastInode, bytes: bytes, modified: now.date.nanosecondsSince1970),
            finished: place.name.moment(modified: now.date.nanosecondsSince1970), sha256: nil, isFinished: true)
        files.removeAll { $0.place == place }
        unsynced.removeAll { $0.place == place }
        files.append(file)
        return file
    }

    mutating func remove(_ file: ScannedFile) { files.removeAll { $0 == file } }

    /// A power cut: the closure decides which unsynced unlinks are undone.
    mutating func cutPower(_ comesBack: (ScannedFile) -> Bool) {
        files += unsynced.filter { comesBack($0) }
        unsynced = []
    }

    /// Carries out a step for one file.
    mutating func carryOut(_ step: RemovalStep, for file: CatalogFile) -> RemovalFailure? {
        if !isMounted { return RemovalFailure("there are no recordings: is the disk mounted?") }
        let found = files.first { $0.place == file.place }
        switch step {
        case .check, .unlink:
            guard let found else { return nil }
            guard found.identity == file.identity else { return RemovalFailure("it was changed or replaced") }
            guard step == .unlink else { return nil }
            files.removeAll { $0 == found }
            unsynced.append(found)
        case .list:
            if isFull { return RemovalFailure("no space", isDiskFull: true) }
            listed.insert(file.identity.inode)
        case .sync:
            if failsSyncs { return RemovalFailure("input/output error") }
            unsynced.removeAll { $0.session == file.session }
        }
        return nil
    }
}
