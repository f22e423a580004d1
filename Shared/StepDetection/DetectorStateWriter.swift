/// Writes the numbers that make up a detector's state, one after the other, little-endian.
struct DetectorStateWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ value: Double) {
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: SIMD4<Float>) {
        for lane in 0..<4 {
            withUnsafeBytes(of: value[lane].bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
