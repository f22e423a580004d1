import Messages

extension ByteBuffer {
    @inline(__always)
    mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append($0) }
    }

    @inline(__always)
    mutating func append(littleEndian number: Double) {
        append(littleEndian: number.bitPattern)
    }

    /// Overwrites bytes that were appended earlier.
    @inline(__always)
    mutating func put(littleEndian number: some FixedWidthInteger, at place: Int) {
        withUnsafeMutableBytes { bytes in
            Swift.withUnsafeBytes(of: number.littleEndian) { number in
                UnsafeMutableRawBufferPointer(rebasing: bytes[place...]).copyMemory(from: number)
            }
        }
    }
}
