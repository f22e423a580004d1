package import Files
package import SystemPackage

/// Interrupted sessions that another machine's recorder continued. This machine's part of them is kept, and not resumed.
extension SessionDirectory {
    /// Beside `recordings`, so that no program finds these sessions.
    package static let takenOverName = "taken-over"

    /// Moves interrupted sessions out of the way, with everything recorded in them. No recorder of this shard may run in the data
    /// directory.
    /// - Parameters:
    ///   - shard: the shard whose sessions are moved; nil for all sessions.
    ///   - suffix: appended to the sessions' names, which are used again.
    /// - Returns: the new paths.
    package static func setAsideInterrupted(
        in data: FilePath, of shard: Shard? = nil, suffix: String, calls: FileCalls = .system
    ) throws(RecordingError) -> [FilePath] {
        let names = try recordings(in: data).exists ? sessions(in: data) : []
        var moved: [FilePath] = []
        for session in names {
            let directory = SessionDirectory(session, in: data)
            if directory.hasChecksums { continue }
            if let shard, (try? directory.record())?.shard != shard { continue }
            let new = "\(takenOverName)/\(session)\(suffix)"
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
            guard let suffix = part.ranges(of: ".before-term-").last,
                PersonalName(of: String(part[..<suffix.lowerBound])) == name
            else { continue }
            parts.append(try SessionDirectory(at: directory.path.appending(part)))
        }
        return parts
    }
}
