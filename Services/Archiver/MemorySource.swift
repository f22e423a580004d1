/// A file of an archive that was made for it, in memory.
final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }
    var isAtEnd: Bool { place == bytes.count }
    var changed: ArchiveError { ArchiveError(.changed, "Bytes in memory have changed.") }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - place)
        buffer.copyBytes(from: bytes[place..<place + count])
        place += count
        return count
    }

    func rewind() { place = 0 }
}
