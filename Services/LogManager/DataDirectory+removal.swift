import Files
import Messages
import Recording
import SystemPackage

extension DataDirectory {
    /// Removes files of a session that were entered into the ledger: says so in its list of removed files, unlinks
    /// them, and waits until that would survive a power cut. A file that is not the one that was catalogued stays.
    /// - Returns: each file, and why it is still there, if it is.
    func remove(
        _ files: [CatalogFile], of session: SessionIdentifier, reason: RemovalReason, date: WallTime
    ) -> [(file: CatalogFile, refusal: String?)] {
        let folder: SessionListing
        do throws(Refusal) {
            guard let opened = try open(session) else {
                // The directory is gone, and its files with it; or all is, because a disk is not mounted.
                return files.map { ($0, hasRecordings ? nil : "there are no recordings: is the disk mounted?") }
            }
            folder = opened
        } catch {
            return files.map { ($0, error.description) }
        }
        var refusals: [Int64: String] = [:]
        func attempt(_ body: (CatalogFile) throws(Refusal) -> Void) {
            for file in files where refusals[file.id] == nil {
                do throws(Refusal) {
                    try body(file)
                } catch {
                    refusals[file.id] = error.description
                }
            }
        }
        attempt { file throws(Refusal) in _ = try folder.check(file) }
        // One that is gone already is listed too: a removal that was cut off may not have come so far.
        func list() throws(RecordingError) {
            let removed = files.filter { refusals[$0.id] == nil }.map { RemovedFile($0, reason: reason, date: date) }
            if !removed.isEmpty { try RemovedFile.append(removed, in: folder.directory) }
        }
        var isListed = true
        do {
            try list()
        } catch {
            // A full disk must not keep files from being removed; there is room afterwards.
            guard error.code == .noSpace else { return files.map { ($0, refusals[$0.id] ?? error.description) } }
            isListed = false
        }
        attempt { file throws(Refusal) in
            // Once more, as near to the removal as can be.
            if try folder.check(file) { try folder.remove(file) }
        }
        do {
            try folder.sync()
            if !isListed { try list() }
        } catch {
            return files.map { ($0, refusals[$0.id] ?? "its removal could not be completed: \(error)") }
        }
        return files.map { ($0, refusals[$0.id]) }
    }
}

extension RemovedFile {
    /// A file that is about to be removed.
    fileprivate init(_ file: CatalogFile, reason: RemovalReason, date: WallTime) {
        self.init(
            name: file.name.description, bytes: file.bytes, sha256: file.sha256, reason: reason.rawValue, date: date,
            uploaded: file.uploaded, receipt: file.receipt)
    }
}
