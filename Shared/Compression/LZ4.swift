/// The LZ4 frame format (lz4_Frame_format.md 1.6.4) with independent blocks of up to 4 MB: fast to write, and supported by every
/// MCAP reader.
package struct LZ4 {
    private static let blockSize = 4 << 20
    /// Version 1, independent blocks without checksums, 4 MB at most, and the checksum of these two bytes.
    private static let header: [UInt8] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x70, 0x73]
    /// Short literals are copied as this many bytes at once; later output overwrites the excess.
    private static let roundedCopy = 16
    /// The number of bits in a hash: the table fits into the processor's first cache. 15 bits make exports a tenth smaller, and
    /// take twice as long.
    private static let hashBits: UInt64 = 12

    /// The last position in the block of five bytes with a hash, counted from 1; 0 for none.
    private var table = [UInt32](repeating: 0, count: 1 << Int(hashBits))

    package init() {}

    /// The maximum size of a frame, in bytes.
    package static func maximumSize(of count: Int) -> Int {
        let blocks = (count + blockSize - 1) / blockSize
        return header.count + blocks * 20 + count + count / 255 + 4 + roundedCopy
    }

    /// - Parameter destination: must have room for `maximumSize` bytes.
    /// - Returns: the size of the frame, in bytes.
    package mutating func compress(_ source: UnsafeRawBufferPointer, to destination: UnsafeMutableRawPointer) -> Int {
        var end = destination
        for byte in Self.header { Self.put(byte, at: &end) }
        var start = 0
        while start < source.count {
            let block = UnsafeRawBufferPointer(rebasing: source[start..<min(source.count, start + Self.blockSize)])
            let size = end
            end += 4
            let count = compressBlock(block, to: end)
            if count < block.count {
                size.storeBytes(of: UInt32(count).littleEndian, as: UInt32.self)
                end += count
            } else {
                // A block that does not become smaller is stored uncompressed, marked by the top bit.
                size.storeBytes(of: (UInt32(block.count) | 1 << 31).littleEndian, as: UInt32.self)
                if let base = block.baseAddress { end.copyMemory(from: base, byteCount: block.count) }
                end += block.count
            }
            start += block.count
        }
        end.storeBytes(of: 0, as: UInt32.self)
        return end + 4 - destination
    }

    /// Writes a block of literals and matches, using the first match found.
    private mutating func compressBlock(
        _ source: UnsafeRawBufferPointer, to destination: UnsafeMutableRawPointer
    ) -> Int {
        guard let base = source.baseAddress else { return 0 }
        var end = destination
        var anchor = 0
        // The last match must begin at least twelve bytes before the end, and the last five bytes are literals.
        let lastMatch = source.count - 12
        let matchLimit = source.count - 5
        if lastMatch > 0 {
            table.withUnsafeMutableBufferPointer { table in
                table.update(repeating: 0)
                var place = 0
                while place < lastMatch {
                    let bytes = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                    let word = UInt32(truncatingIfNeeded: bytes)
                    let hash = Int(truncatingIfNeeded: (bytes << 24 &* 889_523_592_379) >> (64 &- Self.hashBits))
                    let candidate = Int(table[hash]) &- 1
                    table[hash] = UInt32(truncatingIfNeeded: place &+ 1)
                    guard candidate >= 0, place &- candidate <= 65_535,
                        UInt32(littleEndian: base.loadUnaligned(fromByteOffset: candidate, as: UInt32.self)) == word
                    else {
                        // After a long run without matches, fewer positions are tried.
                        place &+= 1 &+ (place &- anchor) >> 6
                        continue
                    }
                    let length = 4 &+ Self.matchLength(base, candidate &+ 4, place &+ 4, limit: matchLimit)
                    Self.put(base, anchor..<place, match: length, distance: place &- candidate, at: &end)
                    place &+= length
                    anchor = place
                }
            }
        }
        Self.put(base, anchor..<source.count, match: 0, distance: 0, at: &end)
        return end - destination
    }

    @inline(__always)
    private static func matchLength(_ base: UnsafeRawPointer, _ one: Int, _ other: Int, limit: Int) -> Int {
        var length = 0
        while other + length + 8 <= limit {
            let difference =
                base.loadUnaligned(fromByteOffset: one + length, as: UInt64.self)
                ^ base.loadUnaligned(fromByteOffset: other + length, as: UInt64.self)
            if difference != 0 { return length + UInt64(littleEndian: difference).trailingZeroBitCount >> 3 }
            length += 8
        }
        while other + length < limit,
            base.load(fromByteOffset: one + length, as: UInt8.self)
                == base.load(fromByteOffset: other + length, as: UInt8.self)
        {
            length += 1
        }
        return length
    }

    /// Writes literals and, unless its length is 0, a match.
    @inline(__always)
    private static func put(
        _ base: UnsafeRawPointer, _ literals: Range<Int>, match: Int, distance: Int,
        at end: inout UnsafeMutableRawPointer
    ) {
        let extra = max(0, match - 4)
        put(UInt8(min(15, literals.count) << 4 | min(15, extra)), at: &end)
        if literals.count >= 15 { put(length: literals.count - 15, at: &end) }
        if match > 0, literals.count <= roundedCopy, literals.count + match >= roundedCopy {
            let from = base + literals.lowerBound
            end.storeBytes(of: from.loadUnaligned(as: SIMD16<UInt8>.self), as: SIMD16<UInt8>.self)
        } else {
            end.copyMemory(from: base + literals.lowerBound, byteCount: literals.count)
        }
        end += literals.count
        guard match > 0 else { return }
        end.storeBytes(of: UInt16(distance).littleEndian, as: UInt16.self)
        end += 2
        if extra >= 15 { put(length: extra - 15, at: &end) }
    }

    private static func put(length: Int, at end: inout UnsafeMutableRawPointer) {
        var rest = length
        while rest >= 255 {
            put(255, at: &end)
            rest -= 255
        }
        put(UInt8(rest), at: &end)
    }

    @inline(__always)
    private static func put(_ byte: UInt8, at end: inout UnsafeMutableRawPointer) {
        end.storeBytes(of: byte, as: UInt8.self)
        end += 1
    }
}
