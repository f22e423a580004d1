package import SystemPackage

/// Reads a write-ahead log from its beginning, block by block, up to the first block that cannot be trusted.
///
/// What stands behind the last whole block was torn by the end of the program or a power cut, and was never durable, unless
/// a later block says that it had been synced: then it is damage, as are segments that are missing.
package struct LogReader {
    /// Bytes that were durable once, and can't be read.
    package struct Damage: Hashable, Sendable, CustomStringConvertible {
        package let path: FilePath
        /// Where in the file.
        package let offset: Int

        package var description: String {
            "the write-ahead log \(path) is damaged at byte \(offset): what it had from there on is not used"
        }
    }

    /// The log's identifier; nil where it has no block.
    package private(set) var log: String?
    /// The position behind the last block.
    package private(set) var end = 0
    package private(set) var damage: Damage?

    private let directory: Directory

    package init(_ directory: Directory) {
        self.directory = directory
    }

    /// The identifier of the log in a directory; nil where nothing of it can be read.
    static func identifier(in directory: Directory) throws(RecordingError) -> String? {
        for start in try WriteAheadLog.segments(in: directory) {
            var identifier: String?
            try BlockReader(directory, start)?.withBlock { block, position in
                LogFrame.forEach(in: block, at: position) { frame in
                    if frame.kind == .log { identifier = String(decoding: frame.contents, as: UTF8.self) }
                }
            }
            if let identifier { return identifier }
        }
        return nil
    }

    /// Lends each frame in turn.
    /// - Parameters:
    ///   - needed: the position from which on frames are needed; segments that end before it are not read.
    ///   - known: a position before which everything is known to have been durable.
    package mutating func forEachFrame(
        from needed: Int = 0, knownUpTo known: Int = 0, _ body: (LogFrame) -> Void
    ) throws(RecordingError) {
        let segments = try WriteAheadLog.segments(in: directory)
        // A position is never used twice, even if nothing of a segment can be read.
        end = segments.last.map { $0 + 1 } ?? 0
        if let start = segments.first, start > needed, let synced = try synced(from: 0, of: segments),
            isMissing(min(synced, start), after: needed)
        {
            return try noteDamage(in: needed, at: 0, segments)
        }
        let first = segments.lastIndex { $0 <= needed } ?? 0
        for (index, start) in segments.enumerated() where index >= first {
            let file = try OpenFile(Self.path(of: start, in: directory), .readOnly, action: "read")
            let length = Int(try file.byteCount())
            // The segments behind it say how much of this one was durable; the rest is of a write that failed.
            let synced = try synced(from: index + 1, of: segments)
            let trusted = synced.map { min(length, max(0, $0 - start)) } ?? length
            var reader = BlockReader(file, position: start)
            while reader.offset < trusted, try reader.next() {
                end = max(end, start + reader.offset)
                reader.withBlock { block, position in
                    LogFrame.forEach(in: block, at: position) { frame in
                        if frame.kind == .log, log == nil { log = String(decoding: frame.contents, as: UTF8.self) }
                        body(frame)
                    }
                }
            }
            let isDamaged: Bool
            if let synced {
                isDamaged = isMissing(min(synced, segments[index + 1]), after: start + reader.offset)
            } else if isMissing(known, after: start + reader.offset) {
                isDamaged = true
            } else {
                isDamaged = try reader.hasLaterBlock(before: length)
            }
            if isDamaged {
                // Documents have positions up to there.
                end = max(end, known)
                return try noteDamage(in: start, at: reader.offset, segments)
            }
        }
    }

    /// Notes that something is missing behind the last block: somebody knows more.
    mutating func noteMissingEnd() throws(RecordingError) {
        let segments = try WriteAheadLog.segments(in: directory)
        guard damage == nil, let last = segments.last else { return }
        try noteDamage(in: last, at: max(0, end - last), segments)
    }

    /// Whether something was durable between two positions. No block is as short as the place that is left out behind a
    /// segment of which nothing can be read.
    private func isMissing(_ synced: Int, after reached: Int) -> Bool { synced - reached >= LogBlock.headerLength }

    /// What the first of some segments that can be read says to have been durable before it.
    private func synced(from index: Int, of segments: [Int]) throws(RecordingError) -> Int? {
        for start in segments[index...] {
            if let reader = try BlockReader(directory, start) { return reader.synced }
        }
        return nil
    }

    private mutating func noteDamage(in segment: Int, at offset: Int, _ segments: [Int]) throws(RecordingError) {
        damage = Damage(path: Self.path(of: segment, in: directory), offset: offset)
        // Nothing of what can't be read may have the position of something new.
        guard let last = segments.last else { return }
        let length = try OpenFile(Self.path(of: last, in: directory), .readOnly, action: "read").byteCount()
        end = max(end, last + Int(length))
    }

    fileprivate static func path(of segment: Int, in directory: Directory) -> FilePath {
        directory.path.appending(WriteAheadLog.name(of: segment))
    }
}

/// Reads the blocks of one segment.
private struct BlockReader {
    private let file: OpenFile
    /// The position at which the segment begins.
    private let start: Int
    /// Where the next block begins.
    private(set) var offset = 0
    private var bytes: [UInt8] = []
    private var position = 0
    /// What the block that was read last says to have been durable before it.
    private(set) var synced = 0

    init(_ file: OpenFile, position: Int) {
        self.file = file
        start = position
    }

    /// The first block of a segment; nil if there is none.
    init?(_ directory: Directory, _ position: Int) throws(RecordingError) {
        let path = LogReader.path(of: position, in: directory)
        self.init(try OpenFile(path, .readOnly, action: "read"), position: position)
        guard try next() else { return nil }
    }

    /// Reads the next block.
    /// - Returns: false if none can be read.
    mutating func next() throws(RecordingError) -> Bool {
        guard let (block, synced) = try block(at: offset) else { return false }
        bytes = block
        self.synced = synced
        position = start + offset
        offset += block.count
        return true
    }

    /// Whether a readable block follows an unreadable one, and says that the unreadable one was durable.
    func hasLaterBlock(before length: Int) throws(RecordingError) -> Bool {
        var place = offset + 8
        let pieceSize = 1 << 20
        while place < length {
            let piece = try file.bytes(in: place..<min(length, place + pieceSize))
            if piece.isEmpty { return false }
            for index in stride(from: 0, to: max(0, piece.count - 3), by: 8) {
                let magic = piece.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: index, as: UInt32.self) }
                guard UInt32(littleEndian: magic) == LogBlock.magic,
                    let (_, synced) = try block(at: place + index)
                else { continue }
                if synced > start + offset { return true }
            }
            place += piece.count & ~7
            if piece.count < 8 { return false }
        }
        return false
    }

    func withBlock(_ body: (UnsafeRawBufferPointer, _ position: Int) -> Void) {
        bytes.withUnsafeBytes { body($0, position) }
    }

    private func block(at offset: Int) throws(RecordingError) -> (bytes: [UInt8], synced: Int)? {
        let header = try file.bytes(in: offset..<(offset + LogBlock.headerLength))
        guard header.count == LogBlock.headerLength else { return nil }
        func word(_ place: Int) -> UInt32 {
            UInt32(littleEndian: header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) })
        }
        func number(_ place: Int) -> Int {
            Int(Int64(littleEndian: header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Int64.self) }))
        }
        let length = number(8)
        guard word(0) == LogBlock.magic, number(16) == start + offset, length.isMultiple(of: 8),
            (LogBlock.headerLength...LogBlock.maximumLength).contains(length)
        else { return nil }
        let block = try file.bytes(in: offset..<(offset + length))
        guard block.count == length else { return nil }
        let checksum = block.withUnsafeBytes { LogBlock.checksum(UnsafeRawBufferPointer(rebasing: $0[8...])) }
        return checksum == word(4) ? (block, number(24)) : nil
    }
}
