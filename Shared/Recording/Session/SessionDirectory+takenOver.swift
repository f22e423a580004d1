package import Files
package import SystemPackage

/// Interrupted sessions that another machine's recorder continued. This machine's part of them is kept, and not resumed.
extension SessionDirectory {
    /// Beside `recordings`, so that no program finds these sessions.
    package static let takenOverName = "taken-over"
    /// What follows the session's name in the name of such a part; the lease's term follows.
    private static let beforeTerm = ".before-term-"

    /// Moves interrupted sessions out of the way, with everything recorded in them. No recorder of this shard may run in the data
    /// directory.
    /// - Parameters:
    ///   - shard: the shard whose sessions are moved; nil for all sessions.
    ///   - term: the lease's term that begins. It distinguishes parts of the same session, whose name is used again.
    /// - Returns: the new paths.
    package static func setAsideInterrupted(
        in data: FilePath, of shard: Shard? = nil, before term: Int, calls: FileCalls = .system
    ) throws(RecordingError) -> [FilePath] {
        let names = try recordings(in: data).exists ? sessions(in: data) : []
        var moved: [FilePath] = []
        for session in names {
            let directory = SessionDirectory(session, in: data)
            if directory.hasChecksums { continue }
            if let shard, (try? directory.record())?.shard != shard { continue }
            let new = "\(takenOverName)/\(session)\(beforeTerm)\(term)"
            try Directory(data.appending(takenOverName)).create()
            try Directory(data).rename("\(recordingsName)/\(session)", to: new, calls: calls)
            moved.append(data.appending(new))
        }
        if !moved.isEmpty {
            try Directory(data.appending(takenOverName)).sync(calls: calls)
            try recordings(in: data).sync(calls: calls)
        }
        return moved
    }

    /// The parts of a session that were moved out of the way, in the order of their names.
    package static func partsSetAside(
        of name: PersonalName, in data: FilePath
    ) throws(RecordingError) -> [SessionDirectory] {
        let directory = Directory(data.appending(takenOverName))
        var parts: [SessionDirectory] = []
        for part in try directory.names().sorted() {
            // A session's own name may have dots too.
            guard let suffix = part.ranges(of: beforeTerm).last,
                let session = SessionIdentifier(rawValue: String(part[..<suffix.lowerBound])),
                PersonalName(of: session.text) == name
            else { continue }
            // If a kill broke off its removal, the part may have no record any more.
            parts.append(SessionDirectory(of: session, madeAt: directory.path.appending(part)))
        }
        return parts
    }
}
