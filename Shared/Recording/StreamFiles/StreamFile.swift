package import Files
import Messages
import SystemPackage

/// Writes the files of one stream from the write-ahead log, some time behind it.
///
/// The files depend on the log's frames alone, so the same type writes them while a session runs and again after a crash. Data
/// that the files lack is in the log, so no request waits for a write, and a failed write may be repeated later. A failed sync is
/// final: every later call throws the same error, and the log has what is needed to write the file again.
///
/// Confined to one thread.
package final class StreamFile {
    private enum State {
        case none
        case open(LogFile)
        /// The file has its final name and is complete: it was synced before.
        case sealed(FinishedName)
        /// Somebody removed the file: its records are dropped.
        case missing
    }

    package struct Extent: Hashable, Sendable {
        package let index: Int
        /// The length of the file, terminator included, without waiting records.
        package let bytes: Int
        package let samples: Int
    }

    package let name: LogName
    private let directory: Directory
    private let calls: FileCalls
    private var state = State.none
    /// The index of the log's file that is being written, or of the next one.
    private var index: Int
    private var pending = ByteBuffer(capacity: 0)
    /// The file's samples, including waiting ones.
    private var samples = 0
    private var failure: RecordingError?
    /// Whether the file was written to since the last sync began.
    private var isChanged = false
    /// The bytes that the sync in progress makes durable, without the terminator.
    private var syncing = 0
    /// Whether frames may have been applied before. Otherwise, an existing file is somebody else's.
    private var isResuming = false
    /// Finished files that exist and are not listed, in order.
    private var unlisted: [FinishedName] = []

    package init(_ name: LogName, in directory: Directory, calls: FileCalls = .system) {
        self.name = name
        self.directory = directory
        self.calls = calls
        index = 0
    }

    /// Continues the files of a program that ended, from the durable place in `log`.
    /// - Parameter finished: the log's finished files, in order.
    init(
        resuming log: SessionRecord.Log, of record: SessionRecord, in directory: Directory, finished: [FinishedName],
        calls: FileCalls
    ) throws(RecordingError) {
        isResuming = true
        name = log.name
        self.directory = directory
        self.calls = calls
        index = log.files.count
        let listed = Set(log.files.map(\.name))
        unlisted = finished.filter { !listed.contains($0.description) }
        guard let durable = log.durable, durable.file == index else { return }
        let format = record.format(of: log)
        let length = durable.bytes - LogFile.terminator(format, record.root).count
        do throws(RecordingError) {
            try resume(format, record.root, length: length, samples: durable.samples, hasRecords: true)
        } catch {
            // The file lacks bytes that were durable: nothing may be written after its end.
            guard error.code == .unreadable else { throw error }
            failure = error
        }
    }

    package var pendingBytes: Int { pending.count }

    package var extent: Extent? {
        guard case .open(let file) = state else { return nil }
        return Extent(index: index, bytes: file.byteCount, samples: samples)
    }

    // MARK: Frames

    /// Carries out a frame, if it is about files.
    /// - Returns: a file that ended with the frame.
    package func apply(_ frame: LogFrame) throws(RecordingError) -> SealedFile? {
        switch frame.kind {
        case .begin:
            if let beginning = frame.decode(FileBeginning.self) { try begin(beginning) }
        case .records:
            guard let head = RecordsHead(frame.contents) else { return nil }
            try take(head, UnsafeRawBufferPointer(rebasing: frame.contents[RecordsHead.byteCount...]))
        case .seal:
            if let end = frame.decode(FileEnd.self) { return try seal(end) }
        case .log, .name, .session, .stream, .gap, .held, .event: break
        }
        return nil
    }

    /// Begins a file, even in place of one that somebody removed.
    func begin(_ beginning: FileBeginning) throws(RecordingError) {
        guard beginning.index == index else { return try requireKnown(beginning.index) }
        switch state {
        case .none, .missing: break
        case .open, .sealed: return
        }
        samples = 0
        let fileName = name.fileName(beginning.format)
        if isResuming, unlisted.isEmpty, directory.contains(fileName) {
            let path = directory.path.appending(fileName)
            let opening = LogFile.opening(beginning)
            if try OpenFile(path, .readOnly, action: "read").bytes(in: 0..<opening.count) == opening {
                return try resume(beginning.format, beginning.root, length: opening.count, samples: 0)
            }
            try Directory.removeFile(path)
        }
        if let sealed = unlisted.first {
            state = .sealed(sealed)
        } else {
            state = .open(try LogFile(creating: name, in: directory, beginning, calls: calls))
            isChanged = true
        }
    }

    /// Continues a file of a program that ended.
    /// - Parameter length: bytes of the file that agree with the log, without a terminator.
    private func resume(
        _ format: LogFormat, _ root: JSONRoot, length: Int, samples: Int, hasRecords: Bool = false
    ) throws(RecordingError) {
        self.samples = samples
        if let sealed = unlisted.first {
            state = .sealed(sealed)
            return
        }
        do throws(RecordingError) {
            state = .open(
                try LogFile(
                    reopening: name, in: directory, format: format, root: root,
                    length: length + LogFile.terminator(format, root).count, samples: samples, hasRecords: hasRecords,
                    calls: calls))
            isChanged = true
        } catch {
            guard error.code == .notFound else { throw error }
            state = .missing
        }
    }

    /// Takes records, to be written with `write`.
    func take(_ head: RecordsHead, _ records: UnsafeRawBufferPointer) throws(RecordingError) {
        guard head.file == index else { return try requireKnown(head.file) }
        let file: LogFile
        switch state {
        case .open(let open): file = open
        case .none: throw misplaced(directory.path.appending(name.text))
        // A sealed file already has the records; a missing one gets none.
        case .sealed, .missing: return
        }
        // Durable bytes may be older than the first frame that is read.
        let durable = file.stableByteCount
        if isResuming, head.offset < durable, head.offset + records.count <= durable { return }
        guard head.offset == file.stableByteCount - file.byteCount + file.length(adding: pending.count) else {
            throw misplaced(file.path)
        }
        pending.append(records)
        samples = head.samples
    }

    /// Frames of complete files have nothing new. Records for a file after the next one would be lost.
    private func requireKnown(_ file: Int) throws(RecordingError) {
        if file > index { throw misplaced(directory.path.appending(name.text)) }
    }

    /// The log lacks the bytes between the file's end and the frame.
    private func misplaced(_ path: FilePath) -> RecordingError {
        RecordingError(
            .unreadable, action: "continue to write", path: path,
            reason: "the write-ahead log does not continue the file",
            advice: "Recover a copy of the session without the directory .wal.")
    }

    /// Whether a program that ended left more than the log has: longer files, or others. Files are written behind the log, so in
    /// that case the log has lost something, or the disk refused it.
    func isAheadOfLog() throws(RecordingError) -> Bool {
        switch state {
        case .open(let file):
            try write()
            return try file.handle.byteCount() > Int64(file.byteCount)
        // With all frames, the file would have been sealed.
        case .sealed: return true
        case .none: return LogFormat.known.contains { directory.contains(name.fileName($0)) } || !unlisted.isEmpty
        case .missing: return !unlisted.isEmpty
        }
    }

    /// Ends the repetition of frames, and cuts off what the earlier program left after them.
    func finishResuming() throws(RecordingError) {
        isResuming = false
        try write()
        if case .open(let file) = state { try file.repair() }
    }

    /// Writes the waiting records. The file is valid before and after.
    package func write() throws(RecordingError) {
        if let failure { throw failure }
        guard case .open(let file) = state, pending.count > 0 else { return }
        try file.append(&pending, samples: samples - file.sampleCount)
        isChanged = true
        guard file.handle.isLinked else { throw .removed(file.path) }
    }

    /// The file to sync now, on any thread; nil if there is nothing to sync. Call `noteSync` with the result before the file is
    /// sealed; records may be written meanwhile.
    package func beginSync() -> OpenFile? {
        guard isChanged, failure == nil, case .open(let file) = state else { return nil }
        isChanged = false
        syncing = file.stableByteCount
        return file.handle
    }

    /// Takes the result of a sync of everything that was written before the sync began.
    package func noteSync(_ error: RecordingError?) throws(RecordingError) {
        failure = failure ?? error
        if let failure { throw failure }
        guard case .open(let file) = state else { return }
        try file.noteSync(upTo: syncing)
    }

    /// If a sync of the file failed, replaces the file by a copy. The kernel may have marked pages as written that it could not
    /// write; only a new file is certain to be written as a whole. Nothing may be written through this object afterwards.
    package func replaceAfterFailedSync() throws(RecordingError) {
        guard failure != nil, case .open(let file) = state else { return }
        guard let fileName = file.path.lastComponent?.string, directory.contains(fileName) else { return }
        try directory.replaceByCopy(fileName, calls: calls)
    }

    /// Ends the file: writes and syncs it, and gives it its final name, which is durable after a sync of the directory.
    /// - Returns: nil if `end` is not for the current file.
    package func seal(_ end: FileEnd) throws(RecordingError) -> SealedFile? {
        guard end.index == index, let newName = FinishedName(end.name, of: name) else { return nil }
        defer { if case .none = state { index += 1 } }
        switch state {
        case .none: return nil
        case .missing:
            // Listed nevertheless, so that the files after it keep their numbers and its absence is noticed.
            state = .none
            return SealedFile(name: newName, bytes: end.bytes, samples: end.samples, file: nil, isMissing: true)
        case .sealed(let found):
            unlisted.removeFirst()
            state = .none
            return SealedFile(name: found, bytes: end.bytes, samples: end.samples, file: nil)
        case .open(let file):
            try write()
            try file.repair()
            guard file.byteCount == end.bytes else { throw misplaced(file.path) }
            if isChanged {
                do throws(RecordingError) {
                    try file.handle.sync()
                } catch {
                    failure = error
                    throw error
                }
                isChanged = false
            }
            try file.seal(as: newName)
            state = .none
            return SealedFile(
                name: newName, bytes: end.bytes, samples: end.samples, file: file.handle, hash: file.hash)
        }
    }
}
