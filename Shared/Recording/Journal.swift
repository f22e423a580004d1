import Messages
import Synchronization
import SystemPackage

/// A session's `journal.ndjson`: lines that say how far each log had come, so that recovery needs to read only the ends
/// of files.
///
/// What is appended survives the end of the program at once, and a power cut after `sync`. The file does not grow with
/// the session: when it is long, `sync` replaces it by one with the lines that are still needed.
///
/// Any thread may append and sync. The lock is held for short writes, and never while the disk is waited for.
package final class Journal: Sendable {
    package static let fileName = "journal.ndjson"

    private struct State {
        var file: GrowingFile
        var digest: JournalDigest
        /// The length that is durable; nil where the file is new.
        var syncedLength: Int64?
        /// The length from which the file is replaced.
        var limit: Int64
        /// What was appended since a replacement was begun; nil where none is under way.
        var pending: [JournalEntry]?
    }

    private let directory: Directory
    private let calls: FileCalls
    /// The shortest length at which the file is replaced.
    private let limit: Int64
    private let state: Mutex<State>

    /// Makes an empty journal.
    ///
    /// - Parameter limit: the length, in bytes, from which the file is replaced by a shorter one.
    package init(
        creatingIn directory: Directory, limit: Int = 256 << 10, calls: FileCalls = .system
    ) throws(RecordingError) {
        self.directory = directory
        self.calls = calls
        self.limit = Int64(limit)
        let file = try GrowingFile(
            creating: directory.path.appending(Self.fileName), opening: [], terminator: [], calls: calls)
        state = Mutex(State(file: file, digest: JournalDigest(), limit: Int64(limit)))
    }

    /// Goes on with the journal of a session that was cut off. A torn line at its end is removed.
    ///
    /// - Parameter contents: what was read of it.
    package init(
        reopeningIn directory: Directory, contents: Contents, limit: Int = 256 << 10, calls: FileCalls = .system
    ) throws(RecordingError) {
        self.directory = directory
        self.calls = calls
        self.limit = Int64(limit)
        var digest = JournalDigest()
        for entry in contents.entries { digest.add(entry) }
        let file = try GrowingFile(
            reopening: directory.path.appending(Self.fileName), length: Int64(contents.validBytes), terminator: [],
            calls: calls)
        state = Mutex(State(file: file, digest: digest, limit: Int64(limit)))
    }

    /// Adds lines in one write; they are not durable before `sync`.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`, with the journal as it was before.
    package func append(_ entries: [JournalEntry]) throws(RecordingError) {
        if entries.isEmpty { return }
        let lines = Self.lines(entries)
        try state.withLock { state throws(RecordingError) in
            try state.file.append(lines)
            for entry in entries { state.digest.add(entry) }
            state.pending?.append(contentsOf: entries)
        }
    }

    /// Waits until everything appended before would survive a power cut, and replaces the file if it is long.
    ///
    /// - Throws: after an error nothing is said to be durable; what was appended is there, and can be added to.
    package func sync() throws(RecordingError) {
        try syncFile()
        guard state.withLock({ $0.file.length >= $0.limit }) else { return }
        try replaceFile()
        // What was appended meanwhile, and the new file's name.
        try syncFile()
    }

    private func syncFile() throws(RecordingError) {
        while true {
            let (handle, length, syncedLength) = state.withLock { ($0.file.handle, $0.file.length, $0.syncedLength) }
            if length == syncedLength { return }
            try handle.sync()
            let isCurrent = state.withLock { state in
                // Another thread may have replaced the file meanwhile.
                guard state.file.handle === handle else { return false }
                state.syncedLength = max(length, state.syncedLength ?? 0)
                return true
            }
            if isCurrent { return }
        }
    }

    /// Puts a file with the needed lines in the place of this one, unless another thread does so. Lines may be appended
    /// meanwhile.
    private func replaceFile() throws(RecordingError) {
        let needed: [JournalEntry]? = state.withLock { state in
            if state.pending != nil { return nil }
            state.pending = []
            return state.digest.entries
        }
        guard let entries = needed else { return }
        let temporary = Directory.temporaryName(for: Self.fileName)
        do {
            var file = try directory.writeTemporary(
                for: Self.fileName, CollectionOfOne(Self.lines(entries)), calls: calls)
            for _ in 0..<Self.maximumRounds {
                guard let added = try exchange(for: file) else { return }
                // Some of it may have been said to be durable, so it must be here too before the old file is gone.
                try file.append(Self.lines(added))
                try file.handle.syncAll()
            }
            state.withLock { state in
                state.pending = nil
                state.limit = state.file.length + limit
            }
            try Directory.removeFile(directory.path.appending(temporary))
        } catch {
            state.withLock { $0.pending = nil }
            try? Directory.removeFile(directory.path.appending(temporary))
            throw error
        }
    }

    /// How often a replacement is brought up to date with what is appended meanwhile, before it is put off.
    private static let maximumRounds = 8

    /// Makes `file`, which has its temporary name and is durable, the journal.
    ///
    /// - Returns: what was appended meanwhile; then nothing was done.
    private func exchange(for file: GrowingFile) throws(RecordingError) -> [JournalEntry]? {
        try state.withLock { state throws(RecordingError) in
            if let pending = state.pending, !pending.isEmpty {
                state.pending = []
                return pending
            }
            let temporary = Directory.temporaryName(for: Self.fileName)
            try directory.rename(temporary, to: Self.fileName, calls: calls)
            state.file = file
            state.pending = nil
            // Its name is not durable yet.
            state.syncedLength = nil
            // So that a session with many epochs does not replace its journal at each commit.
            state.limit = max(limit, 2 * file.length)
            return nil
        }
    }

    private static func lines(_ entries: [JournalEntry]) -> [UInt8] {
        entries.flatMap { StoredJSON.line($0) + [UInt8(ascii: "\n")] }
    }

    /// What a journal says.
    package struct Contents: Hashable, Sendable {
        /// The entries, oldest first.
        package var entries: [JournalEntry]
        /// How many bytes of the file they take up. What follows was torn by a power cut and says nothing.
        package var validBytes: Int
    }

    /// Reads a session's journal up to the first line that is torn.
    ///
    /// - Throws: `notFound`, `notPermitted` or `inputOutput`.
    package static func read(in directory: Directory) throws(RecordingError) -> Contents {
        let bytes = try directory.read(fileName)
        var contents = Contents(entries: [], validBytes: 0)
        while let end = bytes[contents.validBytes...].firstIndex(of: UInt8(ascii: "\n")),
            let entry = try? WireCoding.decode(JournalEntry.self, from: bytes[contents.validBytes..<end])
        {
            contents.entries.append(entry)
            contents.validBytes = end + 1
        }
        return contents
    }
}
