import Files
import Messages
import SystemPackage

@testable import Recording

extension LogFile {
    /// Creates the first file of a log with the given beginning.
    convenience init(
        creating name: LogName, in directory: Directory, format: LogFormat, root: JSONRoot, startDate: String,
        header: String, calls: FileCalls = .system
    ) throws(RecordingError) {
        try self.init(
            creating: name, in: directory,
            FileBeginning(index: 0, format: format, root: root, startDate: startDate, header: header), calls: calls)
    }

    /// Gives the file its final name, without any sync.
    func seal(at date: WallTime, after last: FinishedName?) throws(RecordingError) -> SealedFile {
        let directory = Directory(path.removingLastComponent())
        let new = FinishedName(log: name, finishedAt: date, after: last, format: format).free(in: directory)
        try seal(as: new)
        return SealedFile(name: new, bytes: byteCount, samples: sampleCount, file: handle)
    }

    /// Seals the file and certifies it.
    func finish(at date: WallTime) throws(RecordingError) -> FinishedFile {
        try seal(at: date, after: nil).complete(hash: nil)
    }
}

extension SealedFile {
    /// Makes the file and its name durable, and certifies it.
    func complete(hash: SegmentHash?) throws(RecordingError) -> FinishedFile {
        guard let file else { preconditionFailure("a file that a test sealed is open") }
        let directory = Directory(file.path.removingLastComponent())
        try file.sync()
        try directory.sync(calls: file.calls)
        var hashed = self
        if let hash { hashed.hash = hash }
        return try hashed.certify(in: directory)
    }
}
