import Messages

/// A row of a packed batch: little-endian Float64 values at any alignment.
struct PackedRow {
    private let bytes: UnsafeRawBufferPointer

    /// A row of a batch with `columns` columns; the row must lie within the batch.
    @inline(__always)
    init(_ row: Int, of packed: UnsafeRawBufferPointer, columns: Int) {
        let stride = columns * 8
        bytes = UnsafeRawBufferPointer(rebasing: packed[row * stride..<(row + 1) * stride])
    }

    @inline(__always)
    subscript(column: Int) -> Double {
        bytes.packedNumber(column)
    }
}
