import StepDetection

/// A detector's complete output.
struct Heard: Hashable {
    var events: [WalkingEvent] = []

    init(
        _ samples: some Sequence<SIMD4<Double>>,
        _ settings: StepDetectorSettings = StepDetectorSettings(perG: 1)
    ) {
        var detector = StepDetector(settings)
        hear(samples, by: &detector)
    }

    init() {}

    mutating func hear(_ samples: some Sequence<SIMD4<Double>>, by detector: inout StepDetector) {
        for sample in samples {
            detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { events.append($0) }
        }
    }

    var steps: [Step] {
        events.compactMap { if case .step(let step) = $0 { step } else { nil } }
    }

    var begins: [Double] {
        events.compactMap { if case .began(let time) = $0 { time } else { nil } }
    }

    var ends: [Double] {
        events.compactMap { if case .ended(let time) = $0 { time } else { nil } }
    }
}
