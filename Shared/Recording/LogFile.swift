package import Messages
package import SystemPackage

/// A log file that is being written. It is valid after every write: JSON with its closing brackets, tables up to a
/// whole row.
///
/// Records come from a `RecordFormatter` in a `ByteBuffer`; one `append` is one pwrite(2), and it is there entirely or,
/// after an error, not at all. Not Sendable: one thread appends and finishes. `handle` may be synced from any thread
/// meanwhile.
package final class LogFile {
    package let name: LogName
    package let format: LogFormat

    /// How many samples were written, markers not counted.
    package private(set) var sampleCount = 0

    private let directory: Directory
    private let file: GrowingFile
    private let terminator: [UInt8]
    /// The length of a file without records.
    private let emptyByteCount: Int64

    /// Makes the file `<name>.<extension>`, with its header and without records. Its directory must be there.
    ///
    /// - Parameters:
    ///   - startDate: when the file is opened, ISO 8601 with zone; a root dictionary has it.
    ///   - header: the first line of a table, from the formatter.
    /// - Throws: `alreadyExists` if there is a file of this name.
    package init(
        creating name: LogName, in directory: Directory, format: LogFormat, root: JSONRoot, startDate: String,
        header: String, calls: FileCalls = .system
    ) throws(RecordingError) {
        self.name = name
        self.format = format
        self.directory = directory
        let isJSON = format == .json
        terminator = isJSON ? Array(root.terminator.utf8) : []
        let opening = Array((isJSON ? root.opening(startDate: startDate) : header).utf8)
        file = try GrowingFile(
            creating: directory.path.appending(name.fileName(format)), opening: opening + terminator,
            terminator: terminator, calls: calls)
        emptyByteCount = file.length
    }

    /// Where it is written.
    package var path: FilePath { file.handle.path }

    /// The file's length: all of it is valid.
    package var byteCount: Int { Int(file.length) }

    /// What may be synced from another thread.
    package var handle: OpenFile { file.handle }

    /// Moves records from the buffer to the end of the file; they are not durable before a sync.
    ///
    /// - Parameters:
    ///   - records: as the formatter appended them, of this log alone. Empty afterwards; unchanged after an error.
    ///   - samples: how many of them are samples.
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`, with the file as it was before.
    package func append(_ records: inout ByteBuffer, samples: Int) throws(RecordingError) {
        let count = records.count
        if count == 0 { return }
        records.append(terminator)
        // In JSON, separators stand between records, not in front of the first.
        let isFirst = file.length == emptyByteCount
        let skipped = isFirst && format == .json ? format.separator.utf8.count : 0
        do {
            try records.withUnsafeBytes { bytes throws(RecordingError) in
                try file.append(UnsafeRawBufferPointer(rebasing: bytes[skipped...]))
            }
        } catch {
            records.truncate(to: count)
            throw error
        }
        records.removeAll()
        sampleCount += samples
    }

    /// Syncs the file, gives it its final name, and reads it back for its hash. Nothing may be appended afterwards.
    ///
    /// Takes time in proportion to the file's size.
    /// - Parameter date: the moment for the name's stamp.
    /// - Throws: after an error the file keeps the name that it had, unless reading back failed.
    package func finish(at date: WallTime) throws(RecordingError) -> FinishedFile {
        try handle.syncAll()
        var newName = FinishedName(log: name, stamp: FinishedName.stamp(of: date), format: format)
        while directory.contains(newName.description) { newName = newName.next }
        try directory.rename(name.fileName(format), to: newName.description)
        let (bytes, digest) = try FinishedFile.measure(directory.path.appending(newName.description))
        guard bytes == byteCount else {
            throw RecordingError(
                .unreadable, action: "finish", path: directory.path.appending(newName.description),
                reason: "it has \(bytes) bytes in place of \(byteCount)",
                advice: "Another program must have changed it; keep others out of the data directory.")
        }
        return FinishedFile(name: newName.description, bytes: bytes, samples: sampleCount, sha256: digest)
    }
}
