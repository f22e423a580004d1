import Glibc

/// Finds the cadence in the last seconds of the band-passed signals.
///
/// Each cadence f from 0.6 to 3.4 steps a second gets a score; the best one wins. The score is a sum of
/// - the correlation of the last *stride*, 2/f, with the one before (`LagProducts`). Not of one step: at the wrist and in a
///   trouser pocket one leg is felt more than the other, and the correlation at the step is near zero or negative;
/// - 0.11 × the spectrum's amplitude at f, as a share of its maximum. A correlation also has maxima at two and three strides, the
///   spectrum has them at the step and its multiples: together they are unambiguous. The amplitude is the root of the cosine
///   transform of the correlation (Wiener–Khinchin; Blackman and Tukey, 1958);
/// - 0.13 × how usual the cadence is: a normal distribution in ln f around 1.8 steps a second. In a bout, a deviation beyond that
///   of walking is running, for which 2.7 is usual.
///
/// In a bout, a cadence at which the body would have to rise higher than it can is excluded: at a low rate a multiple of a
/// runner's stride may correlate better than the stride itself, because samples fall at the same places of it.
///
/// The magnitude is given as its signed square root, so that one blow or turn of the arm does not outweigh two seconds of steps:
/// like centre clipping for the pitch of a voice (Sondhi, 1968), but without a threshold.
struct GaitRhythm: Sendable {
    /// Cells a second.
    static let rate = 25.0

    /// The cells of a deviation: 1.7 s, one and a half strides.
    static let deviationCells = 42

    private static let cadences = 40
    private static let lowest = 0.6
    private static let highest = 3.4
    /// The lags of the spectrum: every other one up to 3 s, with decreasing weights.
    private static let spectrumLags = 38
    private static let lagStep = 2
    private static let spectrumWeight: Float = 0.11
    private static let priorWeight = 0.13
    private static let usualCadence = 1.8
    private static let usualSpread = 0.25
    /// For running, and the deviation in g that proves running: see `WalkingThresholds.quickestWalk`.
    private static let usualCadenceOfRun = 2.7
    static let leastDeviationOfRun = 0.5
    /// The most by which a body deviates, in g by frequency squared: it rises and falls by at most 20 cm in a step, twice as far
    /// as runners do, and deviates by 1.42 f² times that height, as in `WalkingThresholds.leastDeviationByCadence`.
    static let mostByFrequency = 1.42 * 0.2

    private struct Candidate {
        let cadence: Double
        /// The stride's lag in cells: the whole cells, and the fraction.
        let lag: Int
        let rest: Float
        let prior: Float
        let priorOfRun: Float
    }

    private static let candidates: [Candidate] = (0..<cadences).map { index in
        let cadence = lowest * pow(highest / lowest, Double(index) / Double(cadences - 1))
        let lag = 2 * rate / cadence
        return Candidate(
            cadence: cadence, lag: Int(lag), rest: Float(lag - lag.rounded(.down)),
            prior: prior(cadence, usual: usualCadence), priorOfRun: prior(cadence, usual: usualCadenceOfRun))
    }

    /// The part of a score for how usual its cadence is.
    private static func prior(_ cadence: Double, usual: Double) -> Float {
        let distance = log(cadence / usual) / usualSpread
        return Float(priorWeight * exp(-0.5 * distance * distance))
    }

    /// For each lag a row of cosines, one for each cadence.
    private static let cosines: [SIMD8<Float>] = (0..<spectrumLags).flatMap { lag in
        let weight = (lag == 0 ? 1 : 2) * (1 - Double(lag) / Double(spectrumLags))
        return (0..<(cadences / 8)).map { row in
            var cosines = SIMD8<Float>()
            for lane in 0..<8 {
                let cadence = candidates[8 * row + lane].cadence
                cosines[lane] = Float(weight * cos(2 * .pi * cadence * Double(lagStep * lag) / rate))
            }
            return cosines
        }
    }

    private var products = LagProducts()
    /// The correlation at each lag, then the spectrum at each cadence.
    private var scratch = [SIMD8<Float>](repeating: SIMD8(), count: (LagProducts.lags + cadences) / 8)

    /// Cells since the last estimate.
    var cellsInBlock: Int { products.cellsInBlock }

    mutating func removeAll() {
        products.removeAll()
    }

    /// Continues from a history whose last `cells` cells do not fill a block yet.
    mutating func restore(_ history: History, cells: Int) {
        let phase = (cells - history.count) % LagProducts.block
        products.removeAll(cellsInBlock: phase < 0 ? phase + LagProducts.block : phase)
        for age in (0..<history.count).reversed() { _ = products.append(history[age: age].x) }
    }

    /// Takes the signed root of the magnitude.
    ///
    /// - Returns: whether it is time for an estimate.
    @inline(__always)
    mutating func append(_ value: Float) -> Bool {
        products.append(value)
    }

    /// The estimate from the last cells: the signed root of the magnitude, and the axes.
    ///
    /// - Parameters:
    ///   - following: the cadence of a bout; the new one differs from it by at most the share `width`. Nil for any cadence.
    ///   - isWalking: whether the bout has begun.
    ///   - least: the least deviation of the magnitude for an estimate, in g.
    /// - Returns: nil if nothing moves, or by far too much for the cadence of the bout or of a run.
    mutating func estimate(
        _ history: History, following: Double?, width: Double, isWalking: Bool, least: Double
    ) -> GaitEstimate? {
        history.withLast(history.count) { cells in
            // Three sums of each, so that additions do not depend on each other; the number of cells is a multiple of six.
            var sums = [3 of SIMD4<Float>](repeating: SIMD4())
            var crossed = [3 of SIMD4<Float>](repeating: SIMD4())
            for index in stride(from: max(0, cells.count - Self.deviationCells), to: cells.count - 2, by: 3) {
                for place in sums.indices {
                    var cell = cells[index + place]
                    // The history holds the root.
                    cell.x *= cell.x
                    sums[place] += cell * cell
                    crossed[place] += cell * SIMD4(0, cell.z, cell.w, cell.y)
                }
            }
            let squares = sums[0] + sums[1] + sums[2]
            // Before the first cell the device counts as still.
            let deviation = Double((squares.x / Float(Self.deviationCells)).squareRoot())
            guard deviation > least else { return nil }
            let straightness = Self.straightness(squares, crossed[0] + crossed[1] + crossed[2])
            return scratch.withUnsafeMutableBufferPointer { scratch in
                let correlation = UnsafeMutableBufferPointer(rebasing: scratch[..<(LagProducts.lags / 8)])
                let spectrum = UnsafeMutableBufferPointer(rebasing: scratch[(LagProducts.lags / 8)...])
                products.correlate(into: correlation)
                Self.transform(correlation, into: spectrum)
                let numbers = UnsafeRawBufferPointer(scratch).assumingMemoryBound(to: Float.self)
                var estimate = Self.best(
                    numbers, cells, deviation: deviation, following: following, width: width, isWalking: isWalking)
                estimate?.straightness = straightness
                return estimate
            }
        }
    }

    /// Σλ²/(Σλ)², with the variances λ along the principal axes: independent of the device's orientation. The axes need not be
    /// found, as both sums are traces, of the covariances' square and of the covariances.
    ///
    /// - Parameters:
    ///   - squares: the sums of the squares of the magnitude and the axes.
    ///   - crossed: the sums of the products of the axes.
    /// - Returns: nil if the axes hold no more information than the magnitude.
    private static func straightness(_ squares: SIMD4<Float>, _ crossed: SIMD4<Float>) -> Double? {
        let trace = squares.y + squares.z + squares.w
        guard trace > 1.01 * squares.x else { return nil }
        var both = squares * squares + 2 * crossed * crossed
        both.x = 0
        return Double(both.sum() / (trace * trace))
    }

    @inline(__always)
    private static func transform(
        _ correlation: UnsafeMutableBufferPointer<SIMD8<Float>>, into spectrum: UnsafeMutableBufferPointer<SIMD8<Float>>
    ) {
        let correlation = UnsafeRawBufferPointer(correlation).assumingMemoryBound(to: Float.self)
        cosines.withUnsafeBufferPointer { cosines in
            // Eight cadences in each; side by side, so that additions do not depend on each other.
            var sums = [5 of SIMD8<Float>](repeating: SIMD8())
            for lag in 0..<spectrumLags {
                let here = SIMD8(repeating: correlation[lagStep * lag])
                for row in sums.indices { sums[row] += here * cosines[lag * sums.count + row] }
            }
            for row in sums.indices { spectrum[row] = sums[row] }
        }
    }

    private static func best(
        _ numbers: UnsafeBufferPointer<Float>, _ cells: UnsafeBufferPointer<SIMD4<Float>>, deviation: Double,
        following: Double?, width: Double, isWalking: Bool
    ) -> GaitEstimate? {
        let correlation = UnsafeBufferPointer(rebasing: numbers[..<LagProducts.lags])
        let spectrum = UnsafeBufferPointer(rebasing: numbers[LagProducts.lags...])
        let longest = LagProducts.lags - 2
        var largest: Float = 0
        var strongest = 0
        for index in 0..<cadences where spectrum[index] > largest { (strongest, largest) = (index, spectrum[index]) }
        guard largest > 0 else { return nil }
        let share = 1 / largest
        let range = following.map { $0 / (1 + width)...$0 * (1 + width) }
        let isRun = deviation > leastDeviationOfRun
        let slowest = isWalking || isRun ? (deviation / mostByFrequency).squareRoot() : 0
        let isRunning = isWalking && isRun

        var best: (index: Int, score: Float)?
        var bestOfAll: (index: Int, score: Float) = (0, -2)
        candidates.withUnsafeBufferPointer { candidates in
            for index in 0..<cadences {
                let candidate = candidates[index]
                if candidate.cadence < slowest { continue }
                let regularity =
                    correlation[candidate.lag] * (1 - candidate.rest)
                    + correlation[candidate.lag + 1] * candidate.rest
                let amplitude = (max(0, spectrum[index]) * share).squareRoot()
                let prior = isRunning ? candidate.priorOfRun : candidate.prior
                let score = regularity + spectrumWeight * amplitude + prior
                if score > bestOfAll.score { bestOfAll = (index, score) }
                if let range, !range.contains(candidate.cadence) { continue }
                if best.map({ score > $0.score }) ?? true { best = (index, score) }
            }
        }
        guard let best else { return nil }

        // The maximum of the correlation near the candidate's lag, interpolated between cells by a parabola.
        let middle = 2 * rate / candidates[best.index].cadence
        var lag = Int(middle.rounded())
        while lag < longest, correlation[lag + 1] > correlation[lag], Double(lag + 1) - middle <= 2 { lag += 1 }
        while lag > 2, correlation[lag - 1] > correlation[lag], middle - Double(lag - 1) <= 2 { lag -= 1 }
        let (before, here, after) = (correlation[lag - 1], correlation[lag], correlation[lag + 1])
        let bend = before - 2 * here + after
        let shift = bend < 0 ? max(-1, min(1, 0.5 * (before - after) / bend)) : 0
        let stride = Double(lag) + Double(shift)

        let half = 0.5 * stride
        let rest = Float(half - half.rounded(.down))
        var estimate = GaitEstimate()
        estimate.deviation = deviation
        estimate.cadence = 2 * rate / stride
        estimate.regularity = Double(here - 0.25 * (before - after) * shift)
        estimate.symmetry = Double(correlation[Int(half)] * (1 - rest) + correlation[Int(half) + 1] * rest)
        estimate.axesRegularity = axesRegularity(cells, lag: lag) ?? estimate.regularity
        estimate.rivalry = Double(bestOfAll.score - best.score)
        estimate.strongest = candidates[strongest].cadence
        estimate.bestCadence = candidates[bestOfAll.index].cadence
        return estimate
    }

    /// The correlation of the axes, summed, so that it is independent of the device's orientation.
    ///
    /// - Returns: nil if the axes hold no more information than the magnitude, as in a stream with only the magnitude. For a worn
    ///   device their energy is several times the magnitude's.
    @inline(__always)
    private static func axesRegularity(_ cells: UnsafeBufferPointer<SIMD4<Float>>, lag: Int) -> Double? {
        var (both, now, before) = (SIMD4<Float>(), SIMD4<Float>(), SIMD4<Float>())
        var magnitude: Float = 0
        let first = max(cells.count - LagProducts.window(lag: lag), lag)
        guard first < cells.count else { return nil }
        for index in first..<cells.count {
            let (one, other) = (cells[index], cells[index - lag])
            let square = one.x * one.x
            magnitude += square * square
            both += one * other
            now += one * one
            before += other * other
        }
        let energyNow = now.y + now.z + now.w
        guard energyNow > 1.01 * magnitude else { return nil }
        let energy = energyNow * (before.y + before.z + before.w)
        return Double((both.y + both.z + both.w) / max(1e-9, energy).squareRoot())
    }
}
