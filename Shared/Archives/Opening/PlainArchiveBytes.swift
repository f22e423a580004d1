import Encryption

final class PlainArchiveBytes: ArchiveBytes {
    private let file: ArchiveInput
    private var place = 0
    private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    init(_ file: ArchiveInput) {
        self.file = file
    }

    deinit {
        piece.deallocate()
    }

    func next() throws(ArchiveError) -> UnsafeRawBufferPointer {
        let count = try file.read(at: place, into: piece)
        place += count
        return UnsafeRawBufferPointer(rebasing: piece[..<count])
    }
}
