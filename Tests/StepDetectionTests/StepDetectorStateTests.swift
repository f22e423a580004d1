import StepDetection
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StepDetectorStateTests {
    private let settings = StepDetectorSettings(perG: 1)

    @Test func aDetectorGoesOnFromItsState() throws {
        let samples = MadeWalk(bout: 12, pause: 4, bouts: 3, noise: 0.05).samples(rate: 50)
        let whole = Heard(samples, settings)
        #expect(whole.steps.count > 40)
        // Interrupted in every situation: at rest, before credit, in a bout, at its end.
        for cut in stride(from: 1, to: samples.count, by: 37) {
            var detector = StepDetector(settings)
            var heard = Heard()
            heard.hear(samples.prefix(cut), by: &detector)
            var other = try #require(StepDetector(state: detector.state, settings))
            heard.hear(samples.dropFirst(cut), by: &other)
            #expect(heard == whole, "cut at \(cut)")
        }
    }

    @Test func aStateIsSmall() {
        var detector = StepDetector(settings)
        var heard = Heard()
        heard.hear(MadeWalk(bout: 60).samples(rate: 100), by: &detector)
        #expect(detector.state.count < 7000)
        #expect(StepDetector(settings).state.count < 700)
    }

    @Test func aDamagedStateIsRefused() {
        var detector = StepDetector(settings)
        var heard = Heard()
        heard.hear(MadeWalk().samples(rate: 50).prefix(700), by: &detector)
        let state = detector.state
        for length in stride(from: 0, to: state.count, by: 97) {
            #expect(StepDetector(state: Array(state.prefix(length)), settings) == nil)
        }
        #expect(StepDetector(state: state + [0], settings) == nil)
        var other = state
        other[7] ^= 1
        #expect(StepDetector(state: other, settings) == nil)
    }

    @Test func noisyStatesNeverTrap() {
        var detector = StepDetector(settings)
        var heard = Heard()
        heard.hear(MadeWalk().samples(rate: 50).prefix(700), by: &detector)
        let state = detector.state
        var random = SplitMix(seed: 9)
        for _ in 0..<200 {
            var damaged = state
            for _ in 0..<3 {
                damaged[Int.random(in: 8..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard var other = StepDetector(state: damaged, settings) else { continue }
            var rest = Heard()
            rest.hear(MadeWalk().samples(rate: 50).dropFirst(700).prefix(200), by: &other)
        }
    }
}
