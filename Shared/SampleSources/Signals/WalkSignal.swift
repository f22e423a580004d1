package import Messages

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A person walking, as sensed by an accelerometer and a gyroscope at one place of the body, with steps at known times.
///
/// For testing step counters: the truth is computed, not labelled. A bout begins at 0, `bout` + `pause`, 2 · (`bout` + `pause`) …
/// seconds; without a pause there is one endless bout. With T = 1 / `cadence`, step k (0, 1, 2 …) of a bout is at T · (k + 1),
/// the odd ones (the other foot) T · `asymmetry` later, up to T before the bout ends.
///
/// Each step is a pulse of three harmonics of the step frequency in the vertical and forward directions, and of the stride
/// frequency (half of it) sideways and in the limb's swing, under a window two steps wide. The windows of neighbours add up to
/// one, so that a steady walk is a plain sum of harmonics, and bouts begin and end smoothly. The swing turns the device, and with
/// it the direction of gravity, and adds the limb's tangential and centripetal acceleration.
package struct WalkSignal: Hashable, Sendable {
    /// Steps a second, both feet.
    package let cadence: Double
    /// How much one foot differs from the other in time (share of a step) and in force, −0.3 … 0.3.
    package let asymmetry: Double
    package let placement: Placement
    /// Seconds of walking between pauses; used only if there is a pause.
    package let bout: Double
    /// Seconds of standing between bouts; 0 = none.
    package let pause: Double
    /// The sensor's noise: the standard deviation of accelerations in g, and of the rotation rate in rad/s.
    package let noise: Double
    package let seed: UInt64
    /// The unit of accelerations.
    package let unit: AccelerationUnit

    private let stepsInBout: Int?
    private let sensorNoise: Noise

    /// - Throws: `invalidParameter` unless the cadence is 0.2 … 5, |asymmetry| ≤ 0.3, the pause 0 … 1e6 s, the noise 0 … 100, and
    ///   the bout at least 3 steps and at most 1e6 s.
    package init(
        cadence: Double = 1.8, asymmetry: Double = 0.04, placement: Placement = .waist, bout: Double = 20,
        pause: Double = 0, noise: Double = 0.01, seed: UInt64 = 1, unit: AccelerationUnit = .g
    ) throws(PublisherError) {
        func check(_ isPossible: Bool, _ problem: @autoclosure () -> String) throws(PublisherError) {
            if !isPossible { throw PublisherError(.invalidParameter, "walk: \(problem())") }
        }
        try check(
            cadence >= 0.2 && cadence <= 5,
            "a cadence of \(cadence) is not one of walking; give 0.2 to 5 steps a second")
        try check(abs(asymmetry) <= 0.3, "an asymmetry of \(asymmetry) is too much; give -0.3 to 0.3")
        try check(pause >= 0 && pause <= 1e6, "a pause of \(pause) s is not possible; give 0 to 1e6")
        try check(
            bout * cadence >= 3 && bout <= 1e6,
            "a bout of \(bout) s is not possible; give 3 steps (\(3 / cadence) s) to 1e6 s")
        try check(noise >= 0 && noise <= 100, "a noise of \(noise) is not possible; give 0 to 100")
        self.cadence = cadence
        self.asymmetry = asymmetry
        self.placement = placement
        self.bout = bout
        self.pause = pause
        self.noise = noise
        self.seed = seed
        self.unit = unit
        // Step k of the odd foot is at most 0.3 T late, and must still be T before the end.
        stepsInBout = pause > 0 ? Int((bout * cadence - 1 - abs(asymmetry)).rounded(.down)) : nil
        sensorNoise = Noise(seed: seed, amplitude: noise)
    }

    package func converted(to unit: AccelerationUnit) throws(PublisherError) -> Self {
        try Self(
            cadence: cadence, asymmetry: asymmetry, placement: placement, bout: bout, pause: pause, noise: noise,
            seed: seed, unit: unit)
    }

    /// The times in seconds of all steps up to and including `time`.
    package func trueSteps(until time: Double) -> [Double] {
        (0..<trueStepCount(until: time)).map { step in
            guard let stepsInBout else { return self.time(ofStep: step) }
            let (bouts, stepInBout) = step.quotientAndRemainder(dividingBy: stepsInBout)
            return Double(bouts) * (bout + pause) + self.time(ofStep: stepInBout)
        }
    }

    /// The number of steps up to and including `time` seconds, in constant time.
    package func trueStepCount(until time: Double) -> Int {
        guard time > 0 else { return 0 }
        let (bouts, timeInBout) = boutAndTime(at: time)
        var count = max(0, Int((timeInBout * cadence).rounded(.down)) - 2)
        while self.time(ofStep: count) <= timeInBout { count += 1 }
        guard let stepsInBout else { return count }
        return bouts * stepsInBout + min(count, stepsInBout)
    }

    /// The sensors' readings at `time` seconds; `index` selects the sensor's noise.
    package func motion(at time: Double, index: Int64) -> DeviceMotion {
        let body = bodyMotion(at: boutAndTime(at: max(0, time)).time)
        let gain = placement.gain
        let angle = placement.pitch + placement.swing * body.swing.value
        let rate = placement.swing * body.swing.velocity
        let (sine, cosine) = (sin(angle), cos(angle))

        // The device's y axis is (up · cos + forward · sin), its z axis (forward · cos − up · sin). At distance l below the
        // joint, a swing adds l · angle'² along y and −l · angle'' along z.
        let lever = placement.lever / AccelerationUnit.standardGravity
        let vertical = gain.vertical * body.vertical
        let forward = gain.forward * body.forward
        var user = SIMD3(
            gain.lateral * body.lateral, vertical * cosine + forward * sine + lever * rate * rate,
            forward * cosine - vertical * sine - lever * placement.swing * body.swing.acceleration)
        var rotation = SIMD3(rate, 0, 0)
        if noise > 0 {
            user += sensorNoise.vector(index: index)
            rotation += sensorNoise.vector(index: index, first: 3)
        }
        return DeviceMotion(
            userAcceleration: user * unit.perG, gravity: SIMD3(0, cosine, -sine) * unit.perG, rotationRate: rotation)
    }

    /// The trunk's accelerations in g, and the limb's swing as a share of its amplitude, with its derivatives by seconds.
    private struct BodyMotion {
        var vertical = 0.0
        var forward = 0.0
        var lateral = 0.0
        var swing = (value: 0.0, velocity: 0.0, acceleration: 0.0)
    }

    private func bodyMotion(at time: Double) -> BodyMotion {
        var body = BodyMotion()
        let nearest = Int((time * cadence).rounded(.down)) - 1
        for step in max(0, nearest - 1)...max(0, nearest + 2) {
            if let stepsInBout, step >= stepsInBout { break }
            // The distance from the step, in steps: a step is felt within −1 … 1.
            let distance = (time - self.time(ofStep: step)) * cadence
            guard abs(distance) < 1 else { continue }
            let isOdd = step % 2 == 1
            let force = isOdd ? 1 - asymmetry : 1 + asymmetry
            let side = isOdd ? -1.0 : 1.0

            // 1 − smootherstep: value and first two derivatives vanish at ±1, so that nothing jumps.
            let u = abs(distance)
            let window = 1 - u * u * u * (u * (6 * u - 15) + 10)
            let slope = -30 * u * u * (u - 1) * (u - 1) * (distance < 0 ? -1 : 1)
            let curvature = -60 * u * (u - 1) * (2 * u - 1)

            // Harmonics 1 and 2 of the stride, then 4 and 6 = 2 and 3 of the step, from one sine and cosine.
            let (s1, c1) = (sin(.pi * distance), cos(.pi * distance))
            let (s2, c2) = (2 * s1 * c1, 2 * c1 * c1 - 1)
            let (s4, c4) = (2 * s2 * c2, 2 * c2 * c2 - 1)
            let c6 = c4 * c2 - s4 * s2

            body.vertical += force * window * (0.3 * c2 + 0.1 * c4 + 0.03 * s4 + 0.06 * c6)
            body.forward += force * window * (0.05 * s4 - 0.14 * s2 - 0.03 * c4)
            body.lateral += force * window * side * (0.09 * c1 + 0.04 * s2)
            body.swing.value += side * window * c1
            body.swing.velocity += side * cadence * (slope * c1 - .pi * window * s1)
            body.swing.acceleration +=
                side * cadence * cadence * (curvature * c1 - 2 * .pi * slope * s1 - .pi * .pi * window * c1)
        }
        return body
    }

    /// The time of the bout's step `step`, since the bout's start.
    private func time(ofStep step: Int) -> Double {
        (Double(step + 1) + (step % 2 == 1 ? asymmetry : 0)) / cadence
    }

    private func boutAndTime(at time: Double) -> (bouts: Int, time: Double) {
        guard pause > 0 else { return (0, time) }
        let bouts = (time / (bout + pause)).rounded(.down)
        return (Int(bouts), time - bouts * (bout + pause))
    }
}
