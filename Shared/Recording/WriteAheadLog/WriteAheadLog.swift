package import Files
package import SystemPackage

/// The files of a recorder's write-ahead log: appended data is durable when `append` returns, for all streams at once.
///
/// `recordings/.wal/` has the log in segments, each a file named after the position at which it begins. Blocks come from a
/// `LogAppender`, one after the other. Confined to one thread.
///
/// A failed sync is final: the kernel marks pages clean that it could not write, so a second sync would report success for bytes
/// that are not on disk (Rebello and others, USENIX ATC 2020). After any failure, the segment takes no more data; the next block
/// must begin a new one.
package final class WriteAheadLog {
    private struct Segment {
        let position: Int
        let file: OpenFile
        var dropped = DroppedBytes()
    }

    private let directory: Directory
    private let calls: FileCalls
    private var segment: Segment?
    /// The position before which everything is durable.
    private var synced: Int

    /// Continues a log.
    /// - Parameter synced: the end of the log's data.
    package init(in directory: Directory, synced: Int, calls: FileCalls = .system) {
        self.directory = directory
        self.synced = synced
        self.calls = calls
    }

    package static func directory(in data: FilePath, shard: Shard?) -> Directory {
        directory(inRecordings: SessionDirectory.recordings(in: data).path, shard: shard)
    }

    static func directory(inRecordings recordings: FilePath, shard: Shard?) -> Directory {
        Directory(recordings.appending(".wal\(shard?.fileSuffix ?? "")"))
    }

    /// Makes durable what a program that ended left: its last block may have been written and not synced, and other blocks are
    /// about to follow.
    package static func sync(_ directory: Directory, calls: FileCalls = .system) throws(RecordingError) {
        guard directory.exists else { return }
        for position in try segments(in: directory) {
            try OpenFile(directory.path.appending(name(of: position)), .readOnly, action: "sync", calls: calls)
                .syncAll()
        }
        try directory.sync(calls: calls)
    }

    /// The name of the segment that begins at a position.
    package static func name(of position: Int) -> String {
        let digits = String(position, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + ".wal"
    }

    /// The positions at which segments begin, in order.
    package static func segments(in directory: Directory) throws(RecordingError) -> [Int] {
        try directory.names().compactMap { name in
            guard let position = Int(name.dropLast(4), radix: 16), Self.name(of: position) == name else { return nil }
            return position
        }.sorted()
    }

    /// Writes a block and waits until it survives a power cut.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`. The block is then not durable, and the next one must begin a
    ///   segment.
    package func append(_ block: LogBlock) throws(RecordingError) {
        do throws(RecordingError) {
            let file = try file(for: block)
            try block.withBytes(synced: synced) { header, frames throws(RecordingError) in
                let start = Int64(block.position - block.segment)
                try file.write(header, at: start)
                try file.write(frames, at: start + Int64(header.count))
            }
            try file.sync()
            synced = block.end
            // The log is read only after a crash, and reusing memory costs less than memory that is new to the process.
            segment?.dropped.drop(file, before: synced - block.segment)
        } catch {
            if let segment { try? segment.file.resize(to: Int64(max(0, block.position - segment.position))) }
            segment = nil
            throw error
        }
    }

    private func file(for block: LogBlock) throws(RecordingError) -> OpenFile {
        if let segment, segment.position == block.segment { return segment.file }
        precondition(block.position == block.segment, "After a failure, or a full segment, another one begins.")
        segment = nil
        if !directory.exists { try directory.create() }
        let path = directory.path.appending(Self.name(of: block.segment))
        let file = try OpenFile(
            path, .readWrite, options: [.create, .exclusiveCreate], permissions: .byFileMode,
            action: "create", calls: calls)
        segment = Segment(position: block.segment, file: file)
        return file
    }

    /// Deletes segments that are no longer needed.
    /// - Parameters:
    ///   - position: data before it is in files and durable there.
    ///   - current: the position of the segment for the next block.
    /// - Returns: the bytes that are left.
    package func remove(before position: Int, current: Int) throws(RecordingError) -> Int {
        let segments = try Self.segments(in: directory)
        var left = 0
        for (index, start) in segments.enumerated() {
            let end = index + 1 < segments.count ? segments[index + 1] : synced
            if start < current, end <= position {
                if segment?.position == start { segment = nil }
                try Directory.removeFile(directory.path.appending(Self.name(of: start)))
            } else {
                // If the first write of a segment failed, none of it is durable.
                left += max(0, end - start)
            }
        }
        return left
    }
}
