import SystemPackage

/// A log file that has its final name and will not change any more, but may not be durable yet.
package struct SealedFile: Sendable {
    package let file: OpenFile
    package let name: FinishedName
    /// Its length.
    package let bytes: Int
    /// How many samples are in it, markers not counted.
    package let samples: Int

    private let directory: Directory
    private let calls: FileCalls

    init(file: OpenFile, name: FinishedName, bytes: Int, samples: Int, directory: Directory, calls: FileCalls) {
        self.file = file
        self.name = name
        self.bytes = bytes
        self.samples = samples
        self.directory = directory
        self.calls = calls
    }

    /// Makes the file and its name durable, and certifies it. May take as long as the disk does; on any thread. May be
    /// tried again after an error.
    ///
    /// - Parameter hash: of the part of the file that was hashed before; nil where none was.
    /// - Throws: `unreadable` if somebody else changed, moved or removed the file.
    package func complete(hash: SegmentHash?) throws(RecordingError) -> FinishedFile {
        try file.sync()
        try directory.sync(calls: calls)
        return try certify(hash: hash)
    }

    /// Checks that a file is what was written, and takes its hash. The file and its directory must be synced.
    ///
    /// - Parameter hash: of the part of the file that was hashed before; nil where none was.
    /// - Throws: `unreadable` if somebody else changed, moved or removed the file.
    package func certify(hash: SegmentHash?) throws(RecordingError) -> FinishedFile {
        let path = directory.path.appending(name.description)
        // First, because hashing takes its time.
        let isOurs = try file.isFile(at: path) ? true : isRemoved()
        guard isOurs, try file.byteCount() == bytes else {
            throw RecordingError(
                .unreadable, action: "finish", path: path,
                reason: "it is not the file of \(bytes) bytes that was written",
                advice: "Another program must have changed it; keep others out of the data directory.")
        }
        var hash = hash ?? SegmentHash()
        try hash.update(file, upTo: bytes, atMost: .max)
        return FinishedFile(name: name.description, bytes: bytes, samples: samples, sha256: hash.digits)
    }

    /// Whether log-manager removed the file already: it is whole as long as it is open.
    private func isRemoved() throws(RecordingError) -> Bool {
        let name = name.description
        if directory.contains(name) { return false }
        return try RemovedFile.read(in: directory).contains { $0.name == name }
    }
}
