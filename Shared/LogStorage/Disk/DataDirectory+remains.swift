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
            guard let directory = try open(session), let recordings = try recordings() else { return .gone }
            guard let bytes = try Self.retirableBytes(in: directory, onlyUploaded: onlyUploaded, without: []) else {
                return .kept(nil)
            }
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

    /// The bytes that `retireRemains` would retire after the removal of some stream files; nil if it would keep the
    /// session.
    package func retirableBytes(
        of session: SessionIdentifier, onlyUploaded: Bool, without files: [CatalogFile]
    ) -> Int? {
        guard let directory = try? open(session) else { return nil }
        return try? Self.retirableBytes(in: directory, onlyUploaded: onlyUploaded, without: files)
    }

    /// The bytes of the remains of a session; nil if they must stay.
    /// - Parameter files: stream files of the session that count as removed.
    private static func retirableBytes(
        in directory: SessionListing, onlyUploaded: Bool, without files: [CatalogFile]
    ) throws -> Int? {
        let record = try directory.record()
        guard record.status.isOver else { return nil }
        let logs = Set(record.logs.map(\.name))
        let names = Set(files.map(\.name))
        var hasFiles = try !directory.currentNames(of: logs).isEmpty
        try directory.forEachFinished(of: logs) { name, _ in if !names.contains(name) { hasFiles = true } }
        // The date of a removal makes no difference here.
        let removed =
            try RemovedFile.read(in: directory.directory)
            + files.map { RemovedFile($0, reason: .whenFull, date: $0.finished) }
        // A session that never had files was not uploaded; keeping it is not an error.
        guard !hasFiles, !removed.isEmpty else { return nil }
        if onlyUploaded {
            guard !removed.contains(where: \.hasUnarchived) else { return nil }
            let dates = removed.compactMap(\.uploadedUntil)
            let annotations = try SessionDirectory(of: directory.session, madeAt: directory.directory.path)
                .annotations(of: record)
            // Annotations and fills made after the last upload exist nowhere else. The clock may have been set since,
            // so numbers of annotations are preferred to dates.
            let number = removed.compactMap(\.lastAnnotation).max()
            guard dates.count == removed.count, let last = dates.max(),
                annotations.allSatisfy({ note in number.map { note.number <= $0 } ?? (note.date < last) }),
                (record.fills ?? []).allSatisfy({ $0.date < last })
            else { return nil }
        }
        return try directory.otherBytes(besides: logs)
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
