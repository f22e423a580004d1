import Files
package import LogManagerCore
import Messages
package import Recording
import SystemPackage

extension DataDirectory {
    /// Before the name of a session that is being removed. No session can be called so, so no program takes it for one.
    private static let removingPrefix = "~"

    /// Removes what remains of a session that is over: everything but stream files, of which there must be none.
    ///
    /// The directory is renamed first: a removal that is interrupted is completed by `completeRemovals`.
    /// - Parameter onlyUploaded: whether all files that were removed from it must have been uploaded, and its annotations with them.
    package func removeRemains(of session: SessionIdentifier, onlyUploaded: Bool) -> RemainsOutcome {
        do {
            guard let directory = try open(session), let recordings = try recordings() else {
                return .removed(bytes: 0)
            }
            let record = try directory.record()
            guard record.status.isOver else { return .kept(nil) }
            var hasFiles = try !directory.currentNames().isEmpty
            try directory.forEachFinished { _, _ in hasFiles = true }
            let removed = try RemovedFile.read(in: directory.directory)
            // A session that never had files was not uploaded, and is no trouble.
            guard !hasFiles, !removed.isEmpty else { return .kept(nil) }
            if onlyUploaded {
                let dates = removed.compactMap(\.uploadedUntil)
                let annotations = try SessionDirectory(of: session, madeAt: directory.directory.path)
                    .annotations(of: record)
                // Annotations that came after the last upload are nowhere else.
                guard dates.count == removed.count, let last = dates.max(),
                    annotations.allSatisfy({ $0.date < last })
                else { return .kept(nil) }
            }
            let bytes = try directory.otherBytes()
            let name = Self.removingPrefix + session.text
            try recordings.rename(session.text, to: name)
            try recordings.sync()
            try recordings.removeTree(name)
            return .removed(bytes: bytes)
        } catch {
            return .kept("\(error)")
        }
    }

    /// Completes removals of sessions that were interrupted. What fails is tried again by the next call.
    /// - Returns: the sessions that are gone now.
    package func completeRemovals() -> [SessionIdentifier] {
        guard let recordings = (try? recordings()) ?? nil else { return [] }
        var names: [String] = []
        try? recordings.forEachName { name throws(Errno) in
            let name = String(cString: name)
            if name.hasPrefix(Self.removingPrefix) { names.append(name) }
        }
        return names.compactMap { name in
            guard (try? recordings.removeTree(name)) != nil else { return nil }
            return SessionIdentifier(rawValue: String(name.dropFirst()))
        }
    }
}
