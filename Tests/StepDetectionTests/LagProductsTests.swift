import TestSupport
import Testing

@testable import StepDetection

@Suite struct LagProductsTests {
    /// The correlation, computed by its definition.
    private func correlation(_ cells: [Float], lag: Int) -> Float {
        let window = LagProducts.window(lag: lag)
        var (both, now, before): (Double, Double, Double) = (0, 0, 0)
        for index in (cells.count - window)..<cells.count {
            let (one, other) = (Double(cells[index]), Double(index >= lag ? cells[index - lag] : 0))
            both += one * other
            now += one * one
            before += other * other
        }
        return Float(both / (now * before + 1e-9).squareRoot())
    }

    private func correlations(_ products: LagProducts) -> [Float] {
        var rows = [SIMD8<Float>](repeating: SIMD8(), count: LagProducts.lags / 8)
        rows.withUnsafeMutableBufferPointer { products.correlate(into: $0) }
        return rows.flatMap { row in row.indices.map { row[$0] } }
    }

    @Test(arguments: [1, 7, 20, 200]) func blocksGiveWhatTheDefinitionGives(blocks: Int) {
        var random = SplitMix(seed: 8)
        // Rounded as in the program, so that no other difference remains.
        let cells = (0..<(blocks * LagProducts.block)).map { _ in (Float(random.normal()) * 1024).rounded() / 1024 }
        var products = LagProducts()
        let full = cells.map { products.append($0) }
        #expect(full.indices.allSatisfy { full[$0] == ($0 % LagProducts.block == LagProducts.block - 1) })
        // Before the first cell, there is rest.
        let rest = [Float](repeating: 0, count: LagProducts.reach)
        for (lag, value) in correlations(products).enumerated() {
            #expect(abs(value - correlation(rest + cells, lag: lag)) < 1e-4, "lag \(lag)")
        }
    }

    @Test func aBlowLeavesNothingBehind() {
        var (struck, whole) = (LagProducts(), LagProducts())
        for index in 0..<(100 * LagProducts.block) {
            let value = Float(MadeWave.sine(0.9, Double(index) / GaitRhythm.rate))
            _ = struck.append(index == 100 ? 31 : value)
            _ = whole.append(value)
        }
        #expect(correlations(struck) == correlations(whole))
    }
}
