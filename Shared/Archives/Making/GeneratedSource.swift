import Hashing
import Encryption
import Files
import Recording

/// A file of an archive that is made for it while it is read, in pieces.
final class GeneratedSource<Pieces: Sequence<[UInt8]>>: ByteSource {
    private let pieces: Pieces
    private var rest: Pieces.Iterator
    /// What of the current piece was not read yet; empty only at the end.
    private var piece: ArraySlice<UInt8> = []
    private var place = 0
    private var hash = SHA256()
    /// How many bytes are in the hash.
    private var hashed = 0

    /// - Parameter pieces: the same each time.
    init(_ pieces: Pieces) {
        self.pieces = pieces
        rest = pieces.makeIterator()
        advance()
    }

    /// Of bytes that are there.
    convenience init(_ bytes: [UInt8]) where Pieces == CollectionOfOne<[UInt8]> {
        self.init(CollectionOfOne(bytes))
    }

    private func advance() {
        while piece.isEmpty, let next = rest.next() { piece = next[...] }
    }

    /// Where it is not known yet, everything is made for it once more.
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

    /// SHA-256 of all, in lower-case hexadecimal digits, once it was read to its end.
    var sha256: String { hash.finalize().hexDigits }
}
