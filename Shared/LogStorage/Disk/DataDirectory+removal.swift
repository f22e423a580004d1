import Files
package import LogManagerCore
import Messages
import Recording
import SystemPackage

extension DataDirectory {
    /// Carries out a step of a removal, session by session.
    /// - Returns: the failures, by the files' numbers.
    package func carryOut(_ step: RemovalStep, for files: [CatalogFile]) -> [Int64: RemovalFailure] {
        var failures: [Int64: RemovalFailure] = [:]
        for (session, files) in Dictionary(grouping: files, by: \.session).sorted(by: { $0.key < $1.key }) {
            func fail(_ files: [CatalogFile], _ failure: RemovalFailure) {
                for file in files { failures[file.id] = failure }
            }
            do throws(Refusal) {
                guard let directory = try open(session) else {
                    // The session's directory is gone with its files, or all recordings are, because a disk is not mounted.
                    if !hasRecordings {
                        fail(files, RemovalFailure("there are no recordings: is the disk mounted?"))
                    }
                    continue
                }
                carryOut(step, for: files, in: directory, fail)
            } catch {
                fail(files, RemovalFailure(error.description))
            }
        }
        return failures
    }

    private func carryOut(
        _ step: RemovalStep, for files: [CatalogFile], in directory: SessionListing,
        _ fail: ([CatalogFile], RemovalFailure) -> Void
    ) {
        switch step {
        case .check, .unlink:
            for file in files {
                do throws(Refusal) {
                    // Checked again, as close to the removal as possible.
                    if try directory.check(file), step == .unlink { try directory.remove(file) }
                } catch {
                    fail([file], RemovalFailure(error.description))
                }
            }
        case .list(let reason, let date):
            do {
                let removed = files.map { RemovedFile($0, reason: reason, date: date) }
                try RemovedFile.append(removed, in: directory.directory)
            } catch {
                fail(files, RemovalFailure(error.description, isDiskFull: error.code == .noSpace))
            }
        case .sync:
            do throws(Errno) {
                try directory.sync()
            } catch {
                fail(files, RemovalFailure("\(error)"))
            }
        }
    }
}

extension RemovedFile {
    init(_ file: CatalogFile, reason: RemovalReason, date: WallTime) {
        self.init(
            name: file.name.description, bytes: file.bytes, sha256: file.sha256, reason: reason.rawValue, date: date,
            uploaded: file.uploaded, receipt: file.receipt)
    }
}
