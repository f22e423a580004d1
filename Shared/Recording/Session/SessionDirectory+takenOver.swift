package import Files
package import SystemPackage

/// Interrupted sessions that another machine's recorder continued: this machine's part of them is kept, and not continued.
extension SessionDirectory {
    /// Beside `recordings`: no program looks for sessions there.
    package static let takenOverName = "taken-over"

    /// Moves interrupted sessions out of the way, with all that was recorded of them. No recorder may run in the data directory.
    /// - Parameter suffix: what is added to their names, which are used again.
    /// - Returns: where they are now.
    package static func setAsideInterrupted(
        in data: FilePath, suffix: String, calls: FileCalls = .system
    ) throws(RecordingError) -> [FilePath] {
        let names = try recordings(in: data).exists ? sessions(in: data) : []
        var moved: [FilePath] = []
        for session in names where !SessionDirectory(session, in: data).hasChecksums {
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
}
