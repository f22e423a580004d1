package import Files
import SystemPackage

/// A stream file that has its final name and will not change any more. The name may not be durable yet.
package struct SealedFile {
    package let name: FinishedName
    let bytes: Int
    /// Samples in the file, not counting markers.
    let samples: Int
    /// Nil if the file was finished before and is only known by its name.
    let file: OpenFile?
    /// The hash of the part of the file that was hashed before.
    var hash = SegmentHash()
    /// Whether the file was removed before it was finished.
    var isMissing = false

    /// Checks that the file is as it was written, and takes its hash. The file and its directory must be synced. May be called on
    /// any thread, and again after an error.
    ///
    /// - Throws: `unreadable` if the file was changed, moved or removed by others.
    package func certify(in directory: Directory) throws(RecordingError) -> FinishedFile {
        var certified = FinishedFile(name: name.description, bytes: bytes, samples: samples, sha256: "")
        let path = directory.path.appending(certified.name)
        if isMissing {
            certified.sha256 = try removal(in: directory)?.sha256 ?? ""
            return certified
        }
        let file = if let file { file } else { try OpenFile(path, .readOnly, action: "read") }
        // First, because hashing takes time. A file that log-manager removed can be read as long as it is open.
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

    /// The line about the file in `removed.ndjson`; nil if there is none.
    private func removal(in directory: Directory) throws(RecordingError) -> RemovedFile? {
        try RemovedFile.read(in: directory).last { $0.name == name.description }
    }
}
