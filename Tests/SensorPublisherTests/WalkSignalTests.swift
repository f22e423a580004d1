import Messages
import SampleSources
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WalkSignalTests {
    /// |a| of a walk at 100 Hz, averaged over 0.15 s (an odd number of samples, so that nothing is shifted).
    private func smoothedMagnitude(_ walk: WalkSignal, seconds: Int) -> [Double] {
        let magnitude = (0..<Int64(seconds * 100)).map { index in
            let acceleration = walk.motion(at: Double(index) / 100, index: index).acceleration
            return (acceleration * acceleration).sum().squareRoot()
        }
        return magnitude.indices.map { index in
            let window = magnitude[max(0, index - 7)...min(magnitude.count - 1, index + 7)]
            return window.reduce(0, +) / Double(window.count)
        }
    }

    /// A step counter independent of the walk's model: maxima above 1.06 g, at least 0.3 s apart.
    private func countedSteps(_ magnitude: [Double]) -> [Double] {
        var steps: [Double] = []
        for index in magnitude.indices.dropFirst().dropLast() {
            guard magnitude[index] > 1.06, magnitude[index] >= magnitude[index - 1],
                magnitude[index] > magnitude[index + 1]
            else { continue }
            let time = Double(index) / 100
            if let last = steps.last, time - last < 0.3 { continue }
            steps.append(time)
        }
        return steps
    }

    @Test(arguments: Placement.allCases, [1.4, 1.8, 2.1])
    func aPeakCounterFindsTheTrueSteps(placement: Placement, cadence: Double) throws {
        let walk = try WalkSignal(cadence: cadence, asymmetry: 0.04, placement: placement, bout: 20, pause: 5)
        let truth = walk.trueSteps(until: 60)
        let counted = countedSteps(smoothedMagnitude(walk, seconds: 60))
        #expect(abs(counted.count - truth.count) <= 2, "\(counted.count) counted, \(truth.count) true")
        for time in counted {
            #expect(truth.contains { abs($0 - time) < 0.35 / cadence }, "no true step near \(time)")
        }
    }

    @Test(arguments: Placement.allCases) func itsSizeIsThatOfAWalk(placement: Placement) throws {
        let walk = try WalkSignal(placement: placement, noise: 0)
        let sizes = (500..<1500).map { index in
            let acceleration = walk.motion(at: Double(index) / 100, index: 0).acceleration
            return (acceleration * acceleration).sum().squareRoot()
        }
        #expect(abs(sizes.reduce(0, +) / 1000 - 1) < 0.12)
        #expect((1.25...2).contains(try #require(sizes.max())))
        #expect((0.4...0.9).contains(try #require(sizes.min())))
    }

    @Test func theLawOfItsStepsIsAsItSays() throws {
        let walk = try WalkSignal(cadence: 2, asymmetry: 0.1, bout: 5, pause: 3)
        let steps = walk.trueSteps(until: 20)
        #expect(Array(steps.prefix(4)) == [0.5, 1.05, 1.5, 2.05])
        #expect(steps.filter { $0 < 8 }.count == 8)
        #expect(steps.allSatisfy { $0.truncatingRemainder(dividingBy: 8) < 5 })
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 < $1 })
        for hundredth in 0...2000 {
            let time = Double(hundredth) / 100
            #expect(walk.trueStepCount(until: time) == steps.filter { $0 <= time }.count)
        }
        #expect(try WalkSignal(cadence: 2).trueStepCount(until: 86400) == 172_799)
    }

    @Test func standingIsStill() throws {
        let walk = try WalkSignal(bout: 10, pause: 10, noise: 0)
        for index in 1001...1999 {
            let motion = walk.motion(at: Double(index) / 100, index: 0)
            #expect(motion.userAcceleration == .zero)
            #expect(motion.rotationRate == .zero)
            #expect(abs((motion.gravity * motion.gravity).sum() - 1) < 1e-12)
        }
    }

    @Test(arguments: Placement.allCases) func nothingJumps(placement: Placement) throws {
        let walk = try WalkSignal(asymmetry: 0.2, placement: placement, bout: 6, pause: 2, noise: 0)
        var last = walk.motion(at: 0, index: 0)
        for index in 1...20_000 {
            let motion = walk.motion(at: Double(index) / 1000, index: 0)
            let jump = motion.acceleration - last.acceleration
            #expect((jump * jump).sum().squareRoot() < 0.05)
            last = motion
        }
    }

    /// Seen from a turning device, a fixed direction turns the other way: dg/dt = −ω × g.
    @Test func gravityTurnsAsTheRotationRateSays() throws {
        let walk = try WalkSignal(placement: .wrist, noise: 0)
        let step = 1e-5
        for index in 100..<600 {
            let time = Double(index) / 100
            let motion = walk.motion(at: time, index: 0)
            let change =
                (walk.motion(at: time + step, index: 0).gravity - walk.motion(at: time - step, index: 0).gravity)
                / (2 * step)
            let (w, g) = (motion.rotationRate, motion.gravity)
            let expected = -SIMD3(w.y * g.z - w.z * g.y, w.z * g.x - w.x * g.z, w.x * g.y - w.y * g.x)
            #expect(((change - expected) * (change - expected)).sum() < 1e-10)
        }
        let rates = (0..<1000).map { walk.motion(at: Double($0) / 100, index: 0).rotationRate.x }
        #expect(try #require(rates.max()) > 1)
    }

    @Test func anotherUnitIsTheSameWalk() throws {
        let walk = try WalkSignal(placement: .pocket)
        let metric = try walk.converted(to: .metresPerSecondSquared)
        let difference =
            metric.motion(at: 3.21, index: 321).acceleration / 9.80665 - walk.motion(at: 3.21, index: 321).acceleration
        #expect((difference * difference).sum() < 1e-24)
        #expect(metric.motion(at: 3.21, index: 321).rotationRate == walk.motion(at: 3.21, index: 321).rotationRate)
    }

    @Test func oneFootDiffersFromTheOther() throws {
        let walk = try WalkSignal(cadence: 2, asymmetry: 0.2, noise: 0)
        let peaks = walk.trueSteps(until: 10).suffix(8).map { walk.motion(at: $0, index: 0).userAcceleration.y }
        let (odd, even) = (
            peaks.enumerated().filter { $0.offset % 2 == 1 }, peaks.enumerated().filter { $0.offset % 2 == 0 }
        )
        let means = [odd, even].map { $0.reduce(0) { $0 + $1.element } / Double($0.count) }.sorted()
        #expect(means[1] / means[0] > 1.3)
    }

    @Test func theSourceOfAWalkKnowsItsSteps() throws {
        let source = try SignalSource(try SignalSpecification.signal("noise:amplitude=0.01+walk:cadence=2"), rate: 50)
        #expect(source.walk?.trueStepCount(until: 10) == 19)
        #expect(source.unit == "g")
        #expect(try SignalSource(.constant(1, .all), rate: 1).walk == nil)
        let motion = try DeviceMotionSource(source)
        #expect(motion.walk == source.walk)
    }
}
