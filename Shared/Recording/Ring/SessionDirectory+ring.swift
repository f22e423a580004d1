package import Files
package import Messages
import SystemPackage

extension SessionDirectory {
    /// Removes finished files: first a durable line for each in `removed.ndjson`, then the files. May be interrupted anywhere,
    /// and repeated.
    ///
    /// A file that was changed since it was finished stays, and so does a file with another name.
    /// - Returns: why files were not removed, by their names.
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`; the call may then be repeated.
    package func remove(
        _ files: [FinishedFile], reason: String, at date: WallTime
    ) throws(RecordingError) -> [String: String] {
        var refused: [String: String] = [:]
        var present: [FinishedFile] = []
        var absent: [FinishedFile] = []
        for file in files {
            if !directory.contains(file.name) {
                absent.append(file)
            } else if let reason = refusal(of: file) {
                refused[file.name] = reason
            } else {
                present.append(file)
            }
        }
        if !absent.isEmpty {
            let known = Set(try RemovedFile.read(in: directory).map(\.name))
            for file in absent where !known.contains(file.name) { refused[file.name] = "it is missing" }
        }
        try RemovedFile.append(
            present.map {
                RemovedFile(name: $0.name, bytes: $0.bytes, sha256: $0.sha256, reason: reason, date: date)
            }, in: directory)
        for file in present { try Directory.removeFile(directory.path.appending(file.name)) }
        if !present.isEmpty { try directory.sync() }
        return refused
    }

    private func refusal(of file: FinishedFile) -> String? {
        guard let status = try? directory.path.appending(file.name).stat(followTargetSymlink: false) else {
            return "it can't be looked at"
        }
        guard status.type == .regular else { return "it is no file" }
        guard status.size == file.bytes else { return "it was changed" }
        return status.linkCount == 1 ? nil : "it has another name too"
    }
}
