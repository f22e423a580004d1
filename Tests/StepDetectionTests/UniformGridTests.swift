import TestSupport
import Testing

@testable import StepDetection

@Suite struct UniformGridTests {
    private func means(_ samples: [(Double, Float)]) -> [(end: Double, mean: Float)] {
        var grid = UniformGrid(cell: 0.04, longestGap: 1)
        var means: [(end: Double, mean: Float)] = []
        for (time, value) in samples {
            _ = grid.add(SIMD4(value, 0, 0, 0), at: time) { means.append((end: $0, mean: $1.x)) }
        }
        return means
    }

    @Test(arguments: [7.0, 12.5, 25, 33, 100, 400]) func aStraightLineStaysOne(rate: Double) {
        let cells = means((0...Int(4 * rate)).map { (Double($0) / rate, 2 + 3 * Float($0) / Float(rate)) })
        #expect(cells.count >= 98)
        for (index, cell) in cells.enumerated() {
            #expect(abs(cell.end - 0.04 * Double(index + 1)) < 1e-9)
            // The mean of a line is its value in the middle.
            #expect(abs(cell.mean - (2 + 3 * (Float(cell.end) - 0.02))) < 1e-4)
        }
    }

    @Test(arguments: [12.5, 15.0, 25, 100]) func aQuickMovementIsKept(rate: Double) {
        let times = (0...Int(20 * rate)).map { Double($0) / rate }
        let cells = means(times.map { ($0, Float(MadeWave.sine(3.5, $0))) })
        let size = (2 * cells.map { $0.mean * $0.mean }.reduce(0, +) / Float(cells.count)).squareRoot()
        // The cell itself attenuates by 3 %.
        #expect((0.85...1.02).contains(size), "\(size)")
    }

    @Test func jitterIsSeenAndUndone() {
        var random = SplitMix(seed: 4)
        let times = (0...200).map { Double($0) / 50 + 0.006 * (2 * random.unit() - 1) }
        for cell in means(times.map { ($0, Float($0)) }) {
            #expect(abs(Double(cell.mean) - (cell.end - 0.02)) < 1e-4)
        }
    }

    @Test func aGapBeginsANewGrid() {
        var grid = UniformGrid(cell: 0.04, longestGap: 1)
        var ends: [Double] = []
        func add(_ time: Double) -> UniformGrid.Outcome { grid.add(SIMD4(), at: time) { end, _ in ends.append(end) } }
        #expect(add(5) == .begins)
        #expect(add(5.1) == .continues)
        #expect(add(5.1) == .ignored)
        #expect(add(4.2) == .ignored)
        #expect(add(.nan) == .ignored)
        #expect(add(6.2) == .begins)
        #expect(add(6.25) == .continues)
        #expect(add(4) == .begins)
        #expect(ends.map { Int(($0 * 100).rounded()) } == [504, 508, 624])
    }
}
