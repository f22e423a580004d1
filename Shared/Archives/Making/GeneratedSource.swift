import Hashing
import Encryption
import Files
import Recording

/// A file of an archive that is generated in pieces while it is read.
final class GeneratedSource<Pieces: Sequence<[UInt8]>>: ByteSource {
    private let pieces: Pieces
    private var rest: Pieces.Iterator
    /// The unread rest of the current piece; empty only at the end.
    private var piece: ArraySlice<UInt8> = []
    private var place = 0
    private var hash = SHA256()
    /// The number of bytes in the hash.
    private var hashed = 0

    /// - Parameter pieces: must give the same pieces each time.
    init(_ pieces: Pieces) {
        self.pieces = pieces
        rest = pieces.makeIterator()
        advance()
    }

    convenience init(_ bytes: [UInt8]) where Pieces == CollectionOfOne<[UInt8]> {
        self.init(CollectionOfOne(bytes))
    }

    private func advance() {
        while piece.isEmpty, let next = rest.next() { piece = next[...] }
    }

    /// If the size is not known yet, all pieces are generated once more to count it.
    private(set) lazy var count = isAtEnd ? place : pieces.reduce(0) { $0 + $1.count }
    var isAtEnd: Bool { piece.isEmpty }
    var changed: ArchiveError { ArchiveError(.changed, "Bytes in memory have changed.") }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < buffer.count, !isAtEnd {
            let part = piece.prefix(buffer.count - count)
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
            count += part.count
            piece = piece.dropFirst(part.count)
            advance()
        }
        if place == hashed {
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            hashed += count
        }
        place += count
        return count
    }

    func rewind() {
        rest = pieces.makeIterator()
        piece = []
        place = 0
        advance()
    }

    /// The SHA-256 of all bytes, in lower-case hexadecimal digits. Valid after all were read.
    var sha256: String { hash.finalize().hexDigits }
}
