import Glibc

/// Possible damage to a recording on its way to a step counter.
struct Degradation: Sendable {
    let name: String
    /// Samples a second, interpolated linearly from the recording's; nil keeps its own rate.
    var rate: Double?
    /// The largest error of a time stamp, as a share of the sample interval.
    var jitter = 0.0
    /// The share of missing samples.
    var missing = 0.0
    /// The sensor's reading for 1 g.
    var gain = 1.0
    /// Added to each axis, in g.
    var bias = SIMD3<Double>()
    /// The axis and the angle in radians by which the device is turned.
    var turn: (axis: SIMD3<Double>, angle: Double)?
    /// Whether axes are exchanged: x becomes y, and y becomes z.
    var isSwapped = false

    static let all: [Self] = {
        let rates = [200.0, 100, 50, 30, 25, 15, 12.5]
        var all = [Self(name: "as it is")]
        all += rates.map { Self(name: "\($0) Hz", rate: $0) }
        all += [100.0, 50, 25, 15].map {
            Self(name: "\(Int($0)) Hz, jitter 30 %, 2 % missing", rate: $0, jitter: 0.3, missing: 0.02)
        }
        all += [SIMD3(0.1, 0, 0), SIMD3(0, -0.1, 0), SIMD3(0.06, 0.06, -0.05)].map {
            Self(name: "bias \($0.x), \($0.y), \($0.z) g", bias: $0)
        }
        all += [
            Self(name: "jitter 30 %, 20 % missing", jitter: 0.3, missing: 0.2), Self(name: "gain 0.9", gain: 0.9),
            Self(name: "gain 1.1", gain: 1.1),
        ]
        let third = 1 / 3.0.squareRoot()
        all += [
            Self(name: "axes swapped", isSwapped: true),
            Self(name: "turned 1 rad about x", turn: (SIMD3(1, 0, 0), 1)),
            Self(name: "turned 2 rad about all", turn: (SIMD3(repeating: third), 2)),
        ]
        return all
    }()

    /// The degradations from which `WalkingLikelihood` is learned.
    static let training = [
        Self(name: "as it is"), Self(name: "12.5 Hz", rate: 12.5),
        Self(name: "15 Hz, jitter 30 %, 2 % missing", rate: 15, jitter: 0.3, missing: 0.02),
        Self(name: "jitter 30 %, 20 % missing", jitter: 0.3, missing: 0.2),
        Self(name: "gain 0.9, bias 0.1 g", gain: 0.9, bias: SIMD3(0.1, 0, 0)),
    ]

    /// The number of counts per recording. The positions of estimates and the missing samples are random, and a single draw of 20
    /// wrists shows little.
    static let draws = 4

    /// - Parameter draw: each draw begins a quarter of the estimates' interval later, and has its own jitter.
    func callAsFunction(_ samples: [SIMD4<Double>], perG: Double, draw: Int = 0) -> [SIMD4<Double>] {
        let start = (samples.first?.x ?? 0) + 0.06 * Double(draw)
        var result = resampled(draw == 0 ? samples : Array(samples.drop { $0.x < start }))
        // A fixed seed, so that the table is the same each time (Marsaglia, "Xorshift RNGs", 2003).
        var seed: UInt64 = 88_172_645_463_325_252 &+ UInt64(draw) &* 0x9E37_79B9_7F4A_7C15
        func random() -> Double {
            seed ^= seed << 13
            seed ^= seed >> 7
            seed ^= seed << 17
            return Double(seed >> 11) / Double(1 << 53)
        }
        if jitter > 0 || missing > 0, result.count > 1 {
            let step = rate.map { 1 / $0 } ?? (result[result.count - 1].x - result[0].x) / Double(result.count - 1)
            for place in result.indices { result[place].x += (2 * random() - 1) * jitter * step }
            result = result.filter { _ in random() >= missing }
        }
        for place in result.indices {
            var axes = SIMD3(result[place].y, result[place].z, result[place].w)
            if let turn { axes = Self.turned(axes, turn.axis, turn.angle) }
            if isSwapped { axes = SIMD3(axes.z, axes.x, axes.y) }
            axes = axes * gain + bias * perG
            result[place] = SIMD4(result[place].x, axes.x, axes.y, axes.z)
        }
        return result
    }

    private func resampled(_ samples: [SIMD4<Double>]) -> [SIMD4<Double>] {
        guard let rate, let first = samples.first, let last = samples.last, samples.count > 1 else { return samples }
        var (index, result) = (0, [SIMD4<Double>]())
        for place in 0...Int((last.x - first.x) * rate) {
            let time = first.x + Double(place) / rate
            while index + 2 < samples.count, samples[index + 1].x < time { index += 1 }
            // A gap is not interpolated.
            if samples[index + 1].x - samples[index].x > 1 { continue }
            result.append(Self.between(samples[index], samples[index + 1], at: time))
        }
        return result
    }

    private static func between(_ one: SIMD4<Double>, _ other: SIMD4<Double>, at time: Double) -> SIMD4<Double> {
        guard other.x > one.x else { return one }
        var value = one + (other - one) * ((time - one.x) / (other.x - one.x))
        value.x = time
        return value
    }

    /// Rodrigues' formula.
    private static func turned(_ v: SIMD3<Double>, _ axis: SIMD3<Double>, _ angle: Double) -> SIMD3<Double> {
        let cross = SIMD3(
            axis.y * v.z - axis.z * v.y, axis.z * v.x - axis.x * v.z, axis.x * v.y - axis.y * v.x)
        return v * cos(angle) + cross * sin(angle) + axis * ((axis * v).sum() * (1 - cos(angle)))
    }
}
