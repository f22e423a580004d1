package import Files
package import SystemPackage

/// Reads a write-ahead log from its beginning, block by block, up to the first block that can't be trusted.
///
/// Data after the last whole block was torn by the end of the program or a power cut, and was never durable. But if a later block
/// states that the data was synced, it is damage, as are missing segments.
package struct LogReader {
    /// Bytes that were durable once, and can't be read.
    package struct Damage: Hashable, Sendable, CustomStringConvertible {
        package let path: FilePath
        /// The offset in the file.
        package let offset: Int
        /// Whether the log can be read completely, but stream files have more.
        package var isEnd = false

        package var description: String {
            isEnd
                ? "the write-ahead log \(path) ends at byte \(offset), and stream files have more: "
                    + "the disk refused to take it, or it was cut"
                : "the write-ahead log \(path) is damaged at byte \(offset): data from there on is not used"
        }
    }

    /// Where the log may be continued: no position is used twice, not even one of a failed write.
    package private(set) var end = 0
    /// The end of the last readable block. Data between it and `end` was never durable, unless there is damage.
    private var readEnd = 0
    /// Positions between readable blocks, in order, that have no data: failed writes used them up.
    package private(set) var holes: [Range<Int>] = []
    /// The position before which all of the log's data is durable.
    package var synced: Int { damage == nil ? readEnd : end }
    package private(set) var damage: Damage?

    private let directory: Directory

    package init(_ directory: Directory) {
        self.directory = directory
    }

    /// The identifier of the log in a directory; nil if the log is unreadable.
    static func identifier(in directory: Directory) throws(RecordingError) -> String? {
        for start in try WriteAheadLog.segments(in: directory) {
            if let log = try BlockReader(firstOf: start, in: directory)?.log { return log }
        }
        return nil
    }

    /// Lends each frame in turn.
    /// - Parameters:
    ///   - needed: the position from which frames are needed; segments that end before it are not read.
    ///   - known: a position before which everything is known to have been durable.
    package mutating func forEachFrame(
        from needed: Int = 0, knownUpTo known: Int = 0, _ body: (LogFrame) -> Void
    ) throws(RecordingError) {
        let segments = try WriteAheadLog.segments(in: directory)
        // A position is never used twice, even if a segment is unreadable.
        end = segments.last.map { $0 + 1 } ?? 0
        if try missingBeginning(from: needed, of: segments) != nil {
            return try noteDamage(in: needed, at: 0, segments)
        }
        let first = segments.lastIndex { $0 <= needed } ?? 0
        readEnd = segments.isEmpty ? 0 : segments[first]
        for (index, start) in segments.enumerated() where index >= first {
            var reader = try BlockReader(start, in: directory)
            let length = Int(try reader.file.byteCount())
            // Later segments state how much of this one was durable; the rest is of a failed write.
            let synced = try synced(from: index + 1, of: segments)
            let trusted = synced.map { min(length, max(0, $0 - start)) } ?? length
            while reader.offset < trusted, try reader.next() {
                if readEnd < start { holes.append(readEnd..<start) }
                readEnd = start + reader.offset
                end = max(end, readEnd)
                reader.forEachFrame(body)
            }
            let expected = synced.map { min($0, segments[index + 1]) } ?? known
            var isDamaged = isMissing(expected, after: start + reader.offset)
            if synced == nil, !isDamaged { isDamaged = try reader.hasLaterBlock(before: length) }
            if isDamaged {
                // Documents have positions up to `known`.
                end = max(end, known)
                return try noteDamage(in: start, at: reader.offset, segments)
            }
        }
    }

    /// The damage before the first segment, for each reader that needs frames from there; readers that miss nothing are left out.
    func missingBeginnings<Reader>(from needed: [Reader: Int]) throws(RecordingError) -> [Reader: Damage] {
        let segments = try WriteAheadLog.segments(in: directory)
        var missing: [Reader: Damage] = [:]
        for (reader, position) in needed { missing[reader] = try missingBeginning(from: position, of: segments) }
        return missing
    }

    private func missingBeginning(from needed: Int, of segments: [Int]) throws(RecordingError) -> Damage? {
        guard let start = segments.first, start > needed, let synced = try synced(from: 0, of: segments),
            isMissing(min(synced, start), after: needed)
        else { return nil }
        return Damage(path: Self.path(of: needed, in: directory), offset: 0)
    }

    /// Notes that blocks are missing after the last one: stream files have more.
    mutating func noteMissingEnd() throws(RecordingError) {
        let segments = try WriteAheadLog.segments(in: directory)
        guard damage == nil, let last = segments.last else { return }
        try noteDamage(in: last, at: max(0, end - last), segments)
        damage?.isEnd = true
    }

    /// Whether data was durable between two positions. Fewer bytes than a header are no block: `end` skips a position after an
    /// unreadable segment.
    private func isMissing(_ synced: Int, after reached: Int) -> Bool { synced - reached >= LogBlock.headerLength }

    /// Up to where data before it was durable, according to the first readable segment.
    private func synced(from index: Int, of segments: [Int]) throws(RecordingError) -> Int? {
        for start in segments[index...] {
            if let reader = try BlockReader(firstOf: start, in: directory) { return reader.synced }
        }
        return nil
    }

    private mutating func noteDamage(in segment: Int, at offset: Int, _ segments: [Int]) throws(RecordingError) {
        damage = Damage(path: Self.path(of: segment, in: directory), offset: offset)
        // New data must not get the position of unreadable data.
        guard let last = segments.last else { return }
        let length = try OpenFile(Self.path(of: last, in: directory), .readOnly, action: "read").byteCount()
        end = max(end, last + Int(length))
    }

    fileprivate static func path(of segment: Int, in directory: Directory) -> FilePath {
        directory.path.appending(WriteAheadLog.name(of: segment))
    }
}

/// Reads the frames of a log that is being written, part by part, each once. Confined to one thread.
package final class LogCursor {
    private let directory: Directory
    private var segment = -1
    private var reader: BlockReader?
    /// The position of the next block, or of a later segment.
    package private(set) var position: Int

    package init(in directory: Directory, at position: Int) {
        self.directory = directory
        self.position = position
    }

    /// Lends frames of durable blocks.
    /// - Parameters:
    ///   - end: the position before which everything is durable.
    ///   - limit: bytes after which no further block is read.
    /// - Returns: the position after the blocks that were read: `end`, unless the limit was reached.
    package func read(
        from start: Int, upTo end: Int, limit: Int, _ body: (LogFrame) -> Void
    ) throws(RecordingError) -> Int {
        if start != position {
            reader = nil
            position = start
        }
        let first = position
        while position < end, position - first < limit {
            if reader == nil { try open() }
            if try reader?.next() == true {
                reader?.forEachFrame(body)
                position = segment + (reader?.offset ?? 0)
            } else {
                // Data after the last block of a segment was never durable.
                let segments = try WriteAheadLog.segments(in: directory)
                position = segments.first { $0 > segment && $0 >= position } ?? end
                reader = nil
            }
        }
        return min(position, end)
    }

    private func open() throws(RecordingError) {
        guard let start = try WriteAheadLog.segments(in: directory).last(where: { $0 <= position }) else { return }
        segment = start
        var opened = try BlockReader(start, in: directory)
        opened.skip(to: position - start)
        reader = opened
    }
}

private struct BlockReader {
    let file: OpenFile
    private let start: Int
    private(set) var offset = 0
    private var block: (bytes: [UInt8], synced: Int) = ([], 0)

    init(_ segment: Int, in directory: Directory) throws(RecordingError) {
        file = try OpenFile(LogReader.path(of: segment, in: directory), .readOnly, action: "read")
        start = segment
    }

    /// Continues at `offset`, the beginning of a block.
    mutating func skip(to offset: Int) { self.offset = offset }

    /// Reads the first block of a segment; nil if there is none.
    init?(firstOf segment: Int, in directory: Directory) throws(RecordingError) {
        try self.init(segment, in: directory)
        guard try next() else { return nil }
    }

    mutating func next() throws(RecordingError) -> Bool {
        guard let block = try block(at: offset) else { return false }
        self.block = block
        offset += block.bytes.count
        return true
    }

    /// The position before which everything was durable, according to the block.
    var synced: Int { block.synced }

    /// The log's identifier, if the block has it, as the first block of a segment does.
    var log: String? {
        var log: String?
        forEachFrame { if $0.kind == .log { log = String(decoding: $0.contents, as: UTF8.self) } }
        return log
    }

    func forEachFrame(_ body: (LogFrame) -> Void) {
        let position = start + offset - block.bytes.count
        block.bytes.withUnsafeBytes { LogFrame.forEach(in: $0, at: position, body) }
    }

    /// Whether a readable block follows an unreadable one, and states that the unreadable one was durable.
    func hasLaterBlock(before length: Int) throws(RecordingError) -> Bool {
        // Blocks begin at multiples of 8, and so do the pieces.
        let pieceSize = 1 << 20
        for place in stride(from: offset + 8, to: length, by: pieceSize) {
            let piece = try file.bytes(in: place..<min(length, place + pieceSize))
            for index in stride(from: 0, to: piece.count - 3, by: 8) {
                guard Self.word(piece, at: index) == LogBlock.magic, let block = try block(at: place + index) else {
                    continue
                }
                if block.synced > start + offset { return true }
            }
        }
        return false
    }

    private func block(at offset: Int) throws(RecordingError) -> (bytes: [UInt8], synced: Int)? {
        let header = try file.bytes(in: offset..<(offset + LogBlock.headerLength))
        guard header.count == LogBlock.headerLength else { return nil }
        func number(_ place: Int) -> Int {
            Int(Int64(littleEndian: header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Int64.self) }))
        }
        let length = number(8)
        guard Self.word(header, at: 0) == LogBlock.magic, number(16) == start + offset, length.isMultiple(of: 8),
            (LogBlock.headerLength...LogBlock.maximumLength).contains(length)
        else { return nil }
        let block = try file.bytes(in: offset..<(offset + length))
        guard block.count == length else { return nil }
        let checksum = block.withUnsafeBytes { LogBlock.checksum(UnsafeRawBufferPointer(rebasing: $0[8...])) }
        return checksum == Self.word(header, at: 4) ? (block, number(24)) : nil
    }

    private static func word(_ bytes: [UInt8], at place: Int) -> UInt32 {
        UInt32(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) })
    }
}
