/// Reads what a `DetectorStateWriter` wrote; zeros after the end of the bytes, which clear `isComplete`.
struct DetectorStateReader {
    private let bytes: [UInt8]
    private var position = 0
    private var isShort = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether exactly all bytes have been read.
    var isComplete: Bool { !isShort && position == bytes.count }

    mutating func next() -> Double {
        Double(bitPattern: UInt64(littleEndian: load(UInt64.self)))
    }

    mutating func next() -> SIMD4<Float> {
        var value = SIMD4<Float>()
        for lane in 0..<4 { value[lane] = Float(bitPattern: UInt32(littleEndian: load(UInt32.self))) }
        return value
    }

    private mutating func load<Value: FixedWidthInteger>(_ type: Value.Type) -> Value {
        let size = Value.bitWidth / 8
        guard bytes.count - position >= size else {
            isShort = true
            return 0
        }
        defer { position += size }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: type) }
    }
}
