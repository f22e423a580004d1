package import Messages
package import SystemPackage

/// A log file that is being written. It is valid after every write: JSON with its closing brackets, tables up to a
/// whole row.
///
/// Records come from a `RecordFormatter` in a `ByteBuffer`; one `append` is one pwrite(2), and it is there entirely or,
/// after an error, not at all. Not Sendable: one thread appends and seals. `handle` may be synced from another thread
/// meanwhile, the first time with the directory's entries.
package final class LogFile {
    package let name: LogName
    package let format: LogFormat

    /// How many samples were written, markers not counted.
    package private(set) var sampleCount: Int

    private let directory: Directory
    private let calls: FileCalls
    private var file: GrowingFile
    private let terminator: [UInt8]
    /// Whether there is a record, so that the next one needs a separator in front of it.
    private var hasRecords: Bool

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
        self.calls = calls
        let isJSON = format == .json
        terminator = Self.terminator(format, root)
        let opening = Array((isJSON ? root.opening(startDate: startDate) : header).utf8)
        file = try GrowingFile(
            creating: directory.path.appending(name.fileName(format)), opening: opening + terminator,
            terminator: terminator, calls: calls)
        sampleCount = 0
        hasRecords = false
    }

    /// Goes on with the file that a program left which was cut off: cuts off what stands behind its last whole record,
    /// and puts the terminator there. May be cut off itself, and done again.
    ///
    /// - Parameters:
    ///   - length: how long the file is then, terminator included.
    ///   - samples: how many samples are in that part.
    ///   - hasRecords: whether any record is, a marker too.
    /// - Throws: `notFound`; `unreadable` if the file is shorter than that.
    package init(
        reopening name: LogName, in directory: Directory, format: LogFormat, root: JSONRoot, length: Int,
        samples: Int, hasRecords: Bool, calls: FileCalls = .system
    ) throws(RecordingError) {
        self.name = name
        self.format = format
        self.directory = directory
        self.calls = calls
        terminator = Self.terminator(format, root)
        file = try GrowingFile(
            reopening: directory.path.appending(name.fileName(format)), length: Int64(length), terminator: terminator,
            calls: calls)
        sampleCount = samples
        self.hasRecords = hasRecords
    }

    private static func terminator(_ format: LogFormat, _ root: JSONRoot) -> [UInt8] {
        format == .json ? Array(root.terminator.utf8) : []
    }

    /// Where it is written.
    package var path: FilePath { file.handle.path }

    /// The file's length: all of it is valid.
    package var byteCount: Int { Int(file.length) }

    /// How many of the file's bytes stay as they are, whatever is appended: all but the terminator.
    package var stableByteCount: Int { byteCount - terminator.count }

    /// What may be synced from another thread.
    package var handle: OpenFile { file.handle }

    /// How long the file would be, terminator included, if so many bytes of records were appended.
    package func length(adding count: Int) -> Int {
        count == 0 ? byteCount : byteCount + count - skippedByteCount
    }

    /// In JSON, separators stand between records, not in front of the first.
    private var skippedByteCount: Int {
        hasRecords || format != .json ? 0 : format.separator.utf8.count
    }

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
        do {
            try records.withUnsafeBytes { bytes throws(RecordingError) in
                try file.append(UnsafeRawBufferPointer(rebasing: bytes[skippedByteCount...]))
            }
        } catch {
            records.truncate(to: count)
            throw error
        }
        records.removeAll()
        hasRecords = true
        sampleCount += samples
    }

    /// Gives the file its final name, at once: nothing is synced before `SealedFile.complete`. Nothing may be appended
    /// afterwards.
    ///
    /// - Parameters:
    ///   - date: the moment for the name's stamp.
    ///   - last: the name of the log's latest finished file. The new one is greater, also when the clock was set back.
    /// - Throws: after an error the file has the name that it had, and can be sealed or appended to later.
    package func seal(at date: WallTime, after last: FinishedName?) throws(RecordingError) -> SealedFile {
        try file.repair()
        var newName = FinishedName(log: name, finishedAt: date, after: last, format: format)
        // A name is never taken twice, whatever lies in the directory.
        while directory.contains(newName.description) { newName = newName.next }
        try directory.rename(name.fileName(format), to: newName.description, calls: calls)
        return SealedFile(
            file: file.handle, name: newName, bytes: byteCount, samples: sampleCount, directory: directory,
            calls: calls)
    }

    /// Seals the file and completes it. Takes time in proportion to its size.
    ///
    /// - Throws: as `seal` and `SealedFile.complete` do.
    package func finish(at date: WallTime, after last: FinishedName? = nil) throws(RecordingError) -> FinishedFile {
        try seal(at: date, after: last).complete(hash: nil)
    }
}
