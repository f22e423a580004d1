import Glibc

/// A walk for files: rest, steps at an even cadence, rest. Times in seconds, acceleration in g.
struct Walk {
    var cadence = 1.8
    var start = 5.0
    var walking = 30.0
    var end = 40.0
    var rate = 25.0

    var steps: Int { Int(cadence * walking) }

    var samples: [SIMD4<Double>] {
        (0..<Int(end * rate)).map { index in
            let time = Double(index) / rate
            let isWalking = time >= start && time < start + walking
            return SIMD4(time, 0.1, 0.1, 1 + (isWalking ? 0.3 * sin(2 * .pi * cadence * time) : 0))
        }
    }

    /// A table with a header.
    var csv: String { "t,x,y,z\n" + samples.map { "\($0.x),\($0.y),\($0.z),\($0.w)\n" }.joined() }
}
