import Glibc

/// Finds the cadence in the last seconds of what was band-passed.
///
/// Each cadence f from 0.6 to 3.4 steps a second is given a score; the best one wins. The score is a sum of
/// - the correlation of the last 1.7 s with the 1.7 s one *stride*, 2/f, before. Not one step: at the wrist and in a trouser
///   pocket one leg is felt more than the other, and the correlation at the step is near zero or negative.
///   With a window of fixed length, every lag is judged by as many samples, and the newest 1.7 s decide at any lag;
/// - 0.11 × the spectrum's amplitude at f, as a share of its maximum. A correlation has maxima at two and three strides too,
///   the spectrum has them at the step and its multiples: together they are unambiguous. The amplitude is the root of the
///   cosine transform of the correlation (Wiener–Khinchin; Blackman and Tukey, 1958);
/// - 0.13 × how usual the cadence is: a normal distribution in ln f around 1.8 steps a second.
///
/// The magnitude comes in as its signed square root, so that one blow or turn of the arm does not outweigh two seconds of
/// steps: as centre clipping does for the pitch of a voice (Sondhi, 1968), but without a threshold.
struct GaitRhythm: Sendable {
    /// Cells a second.
    static let rate = 25.0
    /// Cells that are compared: 1.7 s.
    static let overlap = 43
    /// Lags that are looked at, in blocks of 8: up to 3.5 s, a stride at 0.6 steps a second.
    static let lags = 88
    /// Cells that are used at most.
    static let history = overlap + lags
    /// The fewest cells from which a rhythm is looked for: 3 s.
    static let shortestHistory = 75

    private static let cadences = 40
    private static let lowest = 0.6
    private static let highest = 3.4
    /// Lags that make up the spectrum: 3 s, fading out.
    private static let spectrumLags = 75
    private static let spectrumWeight: Float = 0.11
    private static let priorWeight = 0.13
    private static let usualCadence = 1.8
    private static let usualSpread = 0.25

    /// A cadence that is tried.
    private struct Candidate {
        let cadence: Double
        /// The stride's lag in cells: the whole ones, and what is left.
        let lag: Int
        let rest: Float
        let prior: Float
    }

    private static let candidates: [Candidate] = (0..<cadences).map { index in
        let cadence = lowest * pow(highest / lowest, Double(index) / Double(cadences - 1))
        let lag = 2 * rate / cadence
        let distance = log(cadence / usualCadence) / usualSpread
        return Candidate(
            cadence: cadence, lag: Int(lag), rest: Float(lag - lag.rounded(.down)),
            prior: Float(priorWeight * exp(-0.5 * distance * distance)))
    }

    /// For each lag a row of cosines, one for each cadence.
    private static let cosines: [Float] = (0..<spectrumLags).flatMap { lag in
        let weight = (lag == 0 ? 1 : 2) * (1 - Double(lag) / Double(spectrumLags))
        return candidates.map { Float(weight * cos(2 * .pi * $0.cadence * Double(lag) / rate)) }
    }

    // The newest sample first, with room for a block more than is read; then the correlation, then the spectrum.
    private static let correlationStart = history + 13
    private static let spectrumStart = correlationStart + lags
    private var scratch = [Float](repeating: 0, count: spectrumStart + cadences)

    /// The estimate from all that a history holds.
    mutating func estimate(_ history: History, following: Double?, width: Double) -> GaitEstimate? {
        history.withLast(history.count) { estimate($0, following: following, width: width) }
    }

    /// The estimate from `cells`, oldest first: the signed root of the magnitude, and the axes.
    ///
    /// - Parameter following: the cadence of a bout, from which the new one is at most `width` away, as a share.
    /// - Returns: nil where nothing moves.
    mutating func estimate(
        _ cells: UnsafeBufferPointer<SIMD4<Float>>, following: Double?, width: Double
    ) -> GaitEstimate? {
        // The lags for which there are cells enough, one left over for the maximum between two cells.
        let longest = min(Self.lags - 2, cells.count - Self.overlap - 1)
        guard longest >= 2 * Int(Self.rate / Self.highest) else { return nil }
        return scratch.withUnsafeMutableBytes { scratch in
            let samples = UnsafeMutableRawBufferPointer(rebasing: scratch[..<(4 * Self.correlationStart)])
            let correlation = UnsafeMutableRawBufferPointer(
                rebasing: scratch[(4 * Self.correlationStart)..<(4 * Self.spectrumStart)])
            let spectrum = UnsafeMutableRawBufferPointer(rebasing: scratch[(4 * Self.spectrumStart)...])
            for index in 0..<cells.count {
                samples.storeBytes(of: cells[cells.count - 1 - index].x, toByteOffset: 4 * index, as: Float.self)
            }
            for index in cells.count..<Self.correlationStart {
                samples.storeBytes(of: 0, toByteOffset: 4 * index, as: Float.self)
            }
            guard Self.correlate(samples, into: correlation, longest: longest) else { return nil }
            Self.transform(correlation, into: spectrum)
            return Self.best(correlation, spectrum, cells, longest: longest, following: following, width: width)
        }
    }

    /// Eight lags at a time; false where nothing moves.
    @inline(__always)
    private static func correlate(
        _ samples: UnsafeMutableRawBufferPointer, into correlation: UnsafeMutableRawBufferPointer, longest: Int
    ) -> Bool {
        for lag in stride(from: 0, to: lags, by: 8) {
            var sum = SIMD8<Float>()
            for index in 0..<overlap {
                let now = samples.load(fromByteOffset: 4 * index, as: Float.self)
                let before = samples.loadUnaligned(fromByteOffset: 4 * (index + lag), as: SIMD8<Float>.self)
                sum += SIMD8(repeating: now) * before
            }
            correlation.storeBytes(of: sum, toByteOffset: 4 * lag, as: SIMD8<Float>.self)
        }
        let energy = correlation.load(as: Float.self)
        guard energy > 1e-9 else { return false }
        var energyBefore = energy
        for lag in 0..<lags {
            let value = correlation.load(fromByteOffset: 4 * lag, as: Float.self)
            let normal = lag <= longest + 1 ? value / max(1e-9, energy * energyBefore).squareRoot() : 0
            correlation.storeBytes(of: normal, toByteOffset: 4 * lag, as: Float.self)
            let leaving = samples.load(fromByteOffset: 4 * lag, as: Float.self)
            let entering = samples.load(fromByteOffset: 4 * (lag + overlap), as: Float.self)
            energyBefore += entering * entering - leaving * leaving
        }
        return true
    }

    @inline(__always)
    private static func transform(
        _ correlation: UnsafeMutableRawBufferPointer, into spectrum: UnsafeMutableRawBufferPointer
    ) {
        cosines.withUnsafeBytes { cosines in
            for block in stride(from: 0, to: cadences, by: 8) {
                var sum = SIMD8<Float>()
                for lag in 0..<spectrumLags {
                    let value = correlation.load(fromByteOffset: 4 * lag, as: Float.self)
                    let row = cosines.loadUnaligned(
                        fromByteOffset: 4 * (lag * cadences + block), as: SIMD8<Float>.self)
                    sum += SIMD8(repeating: value) * row
                }
                spectrum.storeBytes(
                    of: pointwiseMax(sum, SIMD8()).squareRoot(), toByteOffset: 4 * block, as: SIMD8<Float>.self)
            }
        }
    }

    private static func best(
        _ correlation: UnsafeMutableRawBufferPointer, _ spectrum: UnsafeMutableRawBufferPointer,
        _ cells: UnsafeBufferPointer<SIMD4<Float>>, longest: Int, following: Double?, width: Double
    ) -> GaitEstimate? {
        let correlation = correlation.assumingMemoryBound(to: Float.self)
        let spectrum = spectrum.assumingMemoryBound(to: Float.self)
        var largest: Float = 0
        var strongest = 0
        for index in 0..<cadences where spectrum[index] > largest { (strongest, largest) = (index, spectrum[index]) }
        guard largest > 0 else { return nil }
        let range = following.map { $0 / (1 + width)...$0 * (1 + width) }

        var best: (index: Int, score: Float)?
        var bestOfAll: (index: Int, score: Float) = (0, -2)
        candidates.withUnsafeBufferPointer { candidates in
            for index in 0..<cadences {
                let candidate = candidates[index]
                guard candidate.lag < longest else { continue }
                let regularity =
                    correlation[candidate.lag] * (1 - candidate.rest)
                    + correlation[candidate.lag + 1] * candidate.rest
                let score = regularity + spectrumWeight * spectrum[index] / largest + candidate.prior
                if score > bestOfAll.score { bestOfAll = (index, score) }
                if let range, !range.contains(candidate.cadence) { continue }
                if best.map({ score > $0.score }) ?? true { best = (index, score) }
            }
        }
        guard let best else { return nil }

        // The top of the correlation near the candidate's lag, between cells by a parabola.
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
        estimate.cadence = 2 * rate / stride
        estimate.regularity = Double(here - 0.25 * (before - after) * shift)
        estimate.symmetry = Double(correlation[Int(half)] * (1 - rest) + correlation[Int(half) + 1] * rest)
        estimate.axesRegularity = axesRegularity(cells, lag: lag) ?? estimate.regularity
        estimate.rivalry = Double(bestOfAll.score - best.score)
        estimate.strongest = candidates[strongest].cadence
        estimate.bestCadence = candidates[bestOfAll.index].cadence
        return estimate
    }

    /// The correlation of the axes, summed, so that it is the same however the device is turned.
    ///
    /// - Returns: nil where the axes tell no more than the magnitude, as in a stream that has the magnitude only. Of a device
    ///   that is worn, they hold several times its energy.
    @inline(__always)
    private static func axesRegularity(_ cells: UnsafeBufferPointer<SIMD4<Float>>, lag: Int) -> Double? {
        var (both, now, before) = (SIMD4<Float>(), SIMD4<Float>(), SIMD4<Float>())
        var magnitude: Float = 0
        for index in (cells.count - overlap)..<cells.count {
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
