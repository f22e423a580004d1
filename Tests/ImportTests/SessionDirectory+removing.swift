import Files
import Messages
import Recording
import SystemPackage

extension SessionDirectory {
    /// Removes the files of a stream, as log-manager does.
    func removeFiles(of stream: String, uploaded: WallTime? = nil) throws {
        let files = try record().logs.filter { $0.stream == stream }.flatMap(\.files)
        try RemovedFile.append(
            files.map {
                RemovedFile(
                    name: $0.name, bytes: $0.bytes, sha256: $0.sha256, reason: "whenFull", date: .now,
                    uploaded: uploaded)
            }, in: directory)
        for file in files { try Directory.removeFile(directory.path.appending(file.name)) }
    }
}
