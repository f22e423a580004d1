/// The correlation of a signal's last seconds with its past, at all lags at once.
///
/// The products of a block of cells with the cells before them are computed once, when the block is full, and kept while the
/// block is in the window. An estimate adds up the blocks, a third of the work of multiplying again. Products are never
/// subtracted, so rounding errors do not accumulate. Cells before the first one count as zero, as if the device had been still.
///
/// The window is as long as the lag, but from 1.2 to 2.2 s: a whole stride is compared with the one before. With a shorter
/// window, long lags correlate by chance; with a longer one, the beginning of a walk is found late.
struct LagProducts: Sendable {
    /// Cells in a block.
    static let block = 6
    /// The lags considered: up to 3.5 s, a stride at 0.6 steps a second.
    static let lags = 88
    /// The number of cells on which the products depend.
    static let reach = mostBlocks * block + lags + block

    private static let fewestBlocks = 5
    private static let mostBlocks = 9
    /// Lags are computed eight at a time. The lags of a row share one window, in blocks.
    private static let rows = lags / 8
    private static let windows = (0..<rows).map { max(fewestBlocks, min(mostBlocks, (8 * $0 + 4 + block - 1) / block)) }
    private static let capacity = lags + mostBlocks * block + 8
    /// Adding and subtracting this rounds to multiples of 1/1024. The sums of such squares are exact in double precision.
    private static let coarse: Float = 3 * 4096

    /// The last cells, and the sum of all squares up to each of them: newest first, and each stored twice, so that they are
    /// contiguous in memory.
    private var cells = [Float](repeating: 0, count: 2 * capacity)
    private var energies = [Double](repeating: 0, count: 2 * capacity)
    private var newest = 0
    private var energy = 0.0
    private(set) var cellsInBlock = 0
    /// The products of each block with each lag, eight lags side by side.
    private var products = [SIMD8<Float>](repeating: SIMD8(), count: rows * mostBlocks)
    private var oldest = 0

    /// The number of cells compared at a lag.
    static func window(lag: Int) -> Int { block * windows[lag / 8] }

    /// Forgets everything; the first block is full after `block - cells` cells.
    mutating func removeAll(cellsInBlock cells: Int = 0) {
        for index in self.cells.indices {
            self.cells[index] = 0
            energies[index] = 0
        }
        for index in products.indices { products[index] = SIMD8() }
        (newest, energy, cellsInBlock, oldest) = (0, 0, cells, 0)
    }

    /// Takes a cell.
    ///
    /// - Returns: whether a block is full.
    @inline(__always)
    mutating func append(_ value: Float) -> Bool {
        let value = value + Self.coarse - Self.coarse
        newest = newest == 0 ? Self.capacity - 1 : newest - 1
        energy += Double(value) * Double(value)
        cells[newest] = value
        cells[newest + Self.capacity] = value
        energies[newest] = energy
        energies[newest + Self.capacity] = energy
        cellsInBlock += 1
        guard cellsInBlock == Self.block else { return false }
        cellsInBlock = 0
        multiply()
        return true
    }

    private mutating func multiply() {
        let start = 4 * newest
        let row = oldest * Self.rows
        cells.withUnsafeBytes { cells in
            products.withUnsafeMutableBufferPointer { products in
                for lag in 0..<Self.rows {
                    var sum = SIMD8<Float>()
                    for cell in 0..<Self.block {
                        let place = start + 4 * cell
                        let now = cells.load(fromByteOffset: place, as: Float.self)
                        let before = cells.loadUnaligned(fromByteOffset: place + 32 * lag, as: SIMD8<Float>.self)
                        sum += SIMD8(repeating: now) * before
                    }
                    products[row + lag] = sum
                }
            }
        }
        oldest = oldest + 1 == Self.mostBlocks ? 0 : oldest + 1
    }

    /// Writes the correlation at each lag, −1 … 1, for the windows that ended with the last block.
    @inline(__always)
    func correlate(into correlation: UnsafeMutableBufferPointer<SIMD8<Float>>) {
        energies.withUnsafeBytes { energies in
            products.withUnsafeBufferPointer { products in
                for row in 0..<Self.rows {
                    let window = Self.windows[row]
                    var sum = SIMD8<Float>()
                    var place = oldest
                    for _ in 0..<window {
                        place = place == 0 ? Self.mostBlocks - 1 : place - 1
                        sum += products[place * Self.rows + row]
                    }
                    let length = 8 * window * Self.block
                    let now = energy - energies.load(fromByteOffset: 8 * newest + length, as: Double.self)
                    let start = 8 * (newest + 8 * row)
                    let before =
                        energies.loadUnaligned(fromByteOffset: start, as: SIMD8<Double>.self)
                        - energies.loadUnaligned(fromByteOffset: start + length, as: SIMD8<Double>.self)
                    // The small number, a noise far below any movement, avoids a division by zero.
                    correlation[row] = sum * (Float(now) * SIMD8<Float>(before) + 1e-9).inverseSquareRoot()
                }
            }
        }
    }
}
