package import Files
import SystemPackage

/// A log file that has its final name and will not change any more. The name may not be durable yet.
package struct SealedFile {
    package let name: FinishedName
    let bytes: Int
    /// How many samples are in it, markers not counted.
    let samples: Int
    /// The file; nil if it was finished before, and is only known by its name.
    let file: OpenFile?
    /// Of the part of the file that was hashed before.
    var hash = SegmentHash()
    /// Whether somebody removed it before it was finished.
    var isMissing = false

    /// Checks that the file is what was written, and takes its hash. The file and its directory must be synced. On any
    /// thread; may be tried again after an error.
    ///
    /// - Throws: `unreadable` if somebody else changed, moved or removed the file.
    package func certify(in directory: Directory) throws(RecordingError) -> FinishedFile {
        var certified = FinishedFile(name: name.description, bytes: bytes, samples: samples, sha256: "")
        let path = directory.path.appending(certified.name)
        if isMissing {
            certified.sha256 = try removal(in: directory)?.sha256 ?? ""
            return certified
        }
        let file = if let file { file } else { try OpenFile(path, .readOnly, action: "read") }
        // First, because hashing takes its time. A file that log-manager removed is whole as long as it is open.
        var isOurs = file.isFile(at: path)
        if !isOurs, !directory.contains(certified.name) { isOurs = try removal(in: directory) != nil }
        guard isOurs, try file.byteCount() == bytes else {
            throw .changed(path, action: "finish", "it is not the file of \(bytes) bytes that was written")
        }
        var hash = hash
        try hash.update(file, upTo: bytes, atMost: .max)
        certified.sha256 = hash.digits
        return certified
    }

    /// What log-manager says of the file, if it removed it.
    private func removal(in directory: Directory) throws(RecordingError) -> RemovedFile? {
        try RemovedFile.read(in: directory).last { $0.name == name.description }
    }
}
