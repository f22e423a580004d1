package import Files
package import LogManagerCore
import Messages
package import Recording
import SystemPackage

extension DataDirectory {
    /// Prefix for the directory of a session that is being removed. No session name can begin with it, so no program reads it.
    private static let retiredPrefix = "~"

    /// Renames the directory with the remains of a session that is over: everything but stream files, of which there must be
    /// none. `eraseRemains` removes the directory; until then `retiredSessions` lists it, even after a crash.
    /// - Parameter onlyUploaded: whether all files removed from the directory must have been uploaded, together with the
    ///   annotations.
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
            // A session that never had files was not uploaded; keeping it is not an error.
            guard !hasFiles, !removed.isEmpty else { return .kept(nil) }
            if onlyUploaded {
                guard !removed.contains(where: \.hasUnarchived) else { return .kept(nil) }
                let dates = removed.compactMap(\.uploadedUntil)
                let annotations = try SessionDirectory(of: session, madeAt: directory.directory.path)
                    .annotations(of: record)
                // Annotations and fills made after the last upload exist nowhere else. The clock may have been set since, so
                // numbers of annotations are preferred to dates.
                let number = removed.compactMap(\.lastAnnotation).max()
                guard dates.count == removed.count, let last = dates.max(),
                    annotations.allSatisfy({ note in number.map { note.number <= $0 } ?? (note.date < last) }),
                    (record.fills ?? []).allSatisfy({ $0.date < last })
                else { return .kept(nil) }
            }
            let bytes = try directory.otherBytes()
            let name = Self.retiredPrefix + session.text
            // An earlier retired session of this name must be erased first; it has an event of its own.
            guard try recordings.status(of: name) == nil else { return .kept(nil) }
            try recordings.rename(session.text, to: name)
            try recordings.sync()
            return .retired(bytes: bytes)
        } catch {
            return .kept("\(error)")
        }
    }

    /// The sessions that were retired but not erased.
    package func retiredSessions() throws(RecordingError) -> [SessionIdentifier] {
        try sessions { name in
            name.hasPrefix(Self.retiredPrefix)
                ? SessionIdentifier(rawValue: String(name.dropFirst(Self.retiredPrefix.count))) : nil
        }
    }

    /// Removes the retired directory of a session.
    /// - Returns: why it still exists; nil if it is gone.
    package func eraseRemains(of session: SessionIdentifier) -> String? {
        do throws(Errno) {
            try recordings()?.removeTree(Self.retiredPrefix + session.text)
        } catch {
            return error == .noSuchFileOrDirectory ? nil : "\(error)"
        }
        return nil
    }
}
