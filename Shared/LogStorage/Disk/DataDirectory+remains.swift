package import Files
package import LogManagerCore
import Messages
package import Recording
import SystemPackage

extension DataDirectory {
    /// Before the name of a session that is being removed. No session can be called so, so no program takes it for one.
    private static let retiredPrefix = "~"

    /// Renames the directory with what remains of a session that is over: everything but stream files, of which there must be
    /// none. `eraseRemains` removes it; until then `retiredSessions` lists it, after a kill too.
    /// - Parameter onlyUploaded: whether all files that were removed from it must have been uploaded, and its annotations with them.
    package func retireRemains(of session: SessionIdentifier, onlyUploaded: Bool) -> RemainsOutcome {
        do {
            guard let directory = try open(session), let recordings = try recordings() else {
                return .retired(bytes: 0)
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
            let name = Self.retiredPrefix + session.text
            // An earlier one of its name comes first, with an event of its own.
            guard try recordings.status(of: name) == nil else { return .kept(nil) }
            try recordings.rename(session.text, to: name)
            try recordings.sync()
            return .retired(bytes: bytes)
        } catch {
            return .kept("\(error)")
        }
    }

    /// The sessions that were retired and are not erased.
    package func retiredSessions() throws(RecordingError) -> [SessionIdentifier] {
        try sessions { name in
            name.hasPrefix(Self.retiredPrefix)
                ? SessionIdentifier(rawValue: String(name.dropFirst(Self.retiredPrefix.count))) : nil
        }
    }

    /// Removes what was retired of a session.
    /// - Returns: why it is still there; nil if it is gone.
    package func eraseRemains(of session: SessionIdentifier) -> String? {
        do throws(Errno) {
            try recordings()?.removeTree(Self.retiredPrefix + session.text)
        } catch {
            return error == .noSuchFileOrDirectory ? nil : "\(error)"
        }
        return nil
    }
}
