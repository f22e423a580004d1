import Glibc
import StepDetection

/// A person who walks and rests in turn, and the steps that a detector finds if it hears every sample.
struct Walker {
    private var detector = StepDetector(StepDetectorSettings(perG: 1))
    /// The uptimes of the steps, in seconds.
    private(set) var steps: [Double] = []

    /// The acceleration's magnitude in g, at seconds since the publisher's start: two walks per cycle of 55 s, with rest in
    /// between.
    static func magnitude(at time: Double) -> Double {
        let second = time.truncatingRemainder(dividingBy: 55)
        let isWalking = (3..<22).contains(second) || (30..<48).contains(second)
        return 1 + (isWalking ? 0.3 * sin(2 * .pi * 1.8 * time) : 0)
    }

    mutating func hear(uptime: Double, magnitude: Double) {
        detector.add(time: uptime, x: magnitude, y: 0, z: 0) { event in
            if case .step(let step) = event { steps.append(step.time) }
        }
    }
}
