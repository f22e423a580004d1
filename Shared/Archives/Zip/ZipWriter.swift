import Compression
import Encryption
import Messages

/// Writes a zip into a sink sequentially, in memory of constant size. Files are deflated, or stored if deflating does not make
/// them smaller. The same files give the same bytes.
///
/// The checksum and sizes precede the bytes, except for large deflated files, where they follow. The zip64 format is used only
/// when needed: for sizes and offsets beyond 4 GiB, and more than 65,534 files. Confined to one thread.
final class ZipWriter {
    /// The size of a file's beginning that decides whether it is deflated, in bytes.
    static let trialSize = 1 << 20

    private let sink: any ByteSink
    private let deflater = Deflater()
    /// The encoded directory for the archive's end.
    private var directory: [UInt8] = []
    private var entries = 0
    private var offset = 0
    private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: trialSize, alignment: 16)

    init(to sink: any ByteSink) {
        self.sink = sink
    }

    deinit {
        piece.deallocate()
    }

    /// Adds a file.
    ///
    /// - Parameter name: at most 65,535 bytes, and unique in the archive.
    func add(_ name: String, date: WallTime, from source: some ByteSource) throws(ArchiveError) {
        precondition(name.utf8.count <= Int(UInt16.max), "file systems have no longer names")
        let count = try source.read(into: piece)
        let trial = UnsafeRawBufferPointer(rebasing: piece[..<count])
        let isWhole = source.isAtEnd
        deflater.reset()
        var compressed: [UInt8] = []
        try deflater.compress(trial, isLast: isWhole) { bytes throws(ArchiveError) in compressed += bytes }
        let isSmaller = isWhole ? compressed.count < count : compressed.count < count - count / 32
        var entry = ZipEntry(
            name: name, date: date, method: isSmaller ? .deflated : .stored, offset: offset)
        switch (isWhole, isSmaller) {
        case (true, _):
            entry.checksum = Checksum.crc32(trial)
            entry.bytes = count
            entry.compressedBytes = isSmaller ? compressed.count : count
            try put(entry.localHeader)
            if isSmaller { try put(compressed) } else { try put(trial) }
        case (false, true): try deflate(source, after: trial, compressed, &entry)
        case (false, false): try store(source, after: trial, &entry)
        }
        directory += entry.centralHeader
        entries += 1
    }

    /// Adds a large file while compressing it.
    private func deflate(
        _ source: some ByteSource, after trial: UnsafeRawBufferPointer, _ compressed: [UInt8], _ entry: inout ZipEntry
    ) throws(ArchiveError) {
        entry.isDescribedBehind = true
        // Deflate expands data by at most five bytes in 16 KiB.
        entry.isLarge = source.count + source.count / 2048 >= ZipEntry.limit
        entry.checksum = Checksum.crc32(trial)
        entry.bytes = trial.count
        try put(entry.localHeader)
        try put(compressed)
        let start = offset - compressed.count
        while !source.isAtEnd {
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<(try source.read(into: piece))])
            entry.checksum = Checksum.crc32(bytes, after: entry.checksum)
            entry.bytes += bytes.count
            try deflater.compress(bytes, isLast: source.isAtEnd) { bytes throws(ArchiveError) in try put(bytes) }
        }
        entry.compressedBytes = offset - start
        try put(entry.dataDescriptor)
    }

    /// Adds a large file uncompressed. It is read twice: the checksum must precede a stored file, or few programs could read it
    /// from a pipe.
    private func store(
        _ source: some ByteSource, after trial: UnsafeRawBufferPointer, _ entry: inout ZipEntry
    ) throws(ArchiveError) {
        entry.isLarge = source.count >= ZipEntry.limit
        entry.checksum = Checksum.crc32(trial)
        while !source.isAtEnd {
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<(try source.read(into: piece))])
            entry.checksum = Checksum.crc32(bytes, after: entry.checksum)
        }
        entry.bytes = source.count
        entry.compressedBytes = source.count
        try put(entry.localHeader)
        try source.rewind()
        var checksum: UInt32 = 0
        while !source.isAtEnd {
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<(try source.read(into: piece))])
            checksum = Checksum.crc32(bytes, after: checksum)
            try put(bytes)
        }
        guard checksum == entry.checksum else { throw source.changed }
    }

    /// Writes the directory. Does not close the sink.
    func finish() throws(ArchiveError) {
        let start = offset
        let size = directory.count
        try put(directory)
        if entries >= 0xFFFF || start >= ZipEntry.limit || size >= ZipEntry.limit {
            var end: [UInt8] = [0x50, 0x4B, 0x06, 0x06]
            end.appendLittle(44 as UInt64)
            end.appendLittle(3 << 8 | 45 as UInt16)
            end.appendLittle(45 as UInt16)
            end.appendLittle(0 as UInt64)
            for number in [entries, entries, size, start] { end.appendLittle(UInt64(number)) }
            end += [0x50, 0x4B, 0x06, 0x07]
            end.appendLittle(0 as UInt32)
            end.appendLittle(UInt64(offset))
            end.appendLittle(1 as UInt32)
            try put(end)
        }
        var end: [UInt8] = [0x50, 0x4B, 0x05, 0x06, 0, 0, 0, 0]
        end.appendLittle(UInt16(min(entries, 0xFFFF)))
        end.appendLittle(UInt16(min(entries, 0xFFFF)))
        end.appendLittle(UInt32(min(size, ZipEntry.limit)))
        end.appendLittle(UInt32(min(start, ZipEntry.limit)))
        end.appendLittle(0 as UInt16)
        try put(end)
    }

    private func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        try sink.write(bytes)
        offset += bytes.count
    }

    private func put(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withUnsafeBufferPointer { bytes throws(ArchiveError) in try put(UnsafeRawBufferPointer(bytes)) }
    }

}
