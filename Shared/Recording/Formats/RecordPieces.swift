import Messages

/// The bytes that are the same in every record of a log, between the numbers that differ.
///
/// Each piece is kept in blocks of 16 bytes and copied block by block, which costs less than finding out how to copy an odd
/// number of bytes. So the destination needs `byteCount` bytes of room, more than the pieces are long; excess bytes are
/// overwritten by the next piece or value.
struct RecordPieces: Sendable {
    fileprivate struct Extent {
        var offset: Int
        var count: Int
    }

    fileprivate static let block = 16

    private var bytes: [UInt8] = []
    private var extents: [Extent] = []
    /// The length of all pieces together.
    private(set) var textCount = 0

    init(_ pieces: [String]) {
        for piece in pieces {
            let text = Array(piece.utf8)
            extents.append(Extent(offset: bytes.count, count: text.count))
            bytes += text
            textCount += text.count
            let blocks = max(1, (text.count + Self.block - 1) / Self.block)
            bytes += [UInt8](repeating: 0, count: blocks * Self.block - text.count)
        }
    }

    /// Bytes of room that all pieces together need.
    var byteCount: Int { bytes.count }

    /// Lends the pieces to a closure that writes a record with them.
    @inline(__always)
    func withLent<Failure: Error>(_ body: (Lent) throws(Failure) -> Void) throws(Failure) {
        try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
            try extents.withUnsafeBufferPointer { extents throws(Failure) in
                try body(Lent(bytes: UnsafeRawBufferPointer(bytes), extents: extents))
            }
        }
    }

    /// The pieces during a loan.
    struct Lent {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate let extents: UnsafeBufferPointer<Extent>

        /// Writes a piece and moves `end` to its end.
        @inline(__always)
        func write(_ index: Int, at end: inout UnsafeMutableRawPointer) {
            let extent = extents[index]
            // Each piece has at least one block, and whole blocks only.
            var place = 0
            repeat {
                end.storeBytes(
                    of: bytes.loadUnaligned(fromByteOffset: extent.offset + place, as: SIMD16<UInt8>.self),
                    toByteOffset: place, as: SIMD16<UInt8>.self)
                place += RecordPieces.block
            } while place < extent.count
            end += extent.count
        }

        /// Writes a piece at the end of a buffer.
        func append(_ index: Int, to buffer: inout ByteBuffer) {
            let extent = extents[index]
            buffer.append(UnsafeRawBufferPointer(rebasing: bytes[extent.offset..<extent.offset + extent.count]))
        }
    }

    /// Copies the first `count` bytes, in whole blocks as far as the source is long enough.
    @inline(__always)
    static func copy(_ source: UnsafeRawBufferPointer, count: Int, to destination: UnsafeMutableRawPointer) {
        var place = 0
        while place < count, source.count - place >= block {
            destination.storeBytes(
                of: source.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self), toByteOffset: place,
                as: SIMD16<UInt8>.self)
            place += block
        }
        while place < count {
            destination.storeBytes(of: source[place], toByteOffset: place, as: UInt8.self)
            place += 1
        }
    }

    /// The room that `copy` needs for `count` bytes.
    @inline(__always)
    static func room(for count: Int) -> Int { count + block }
}
