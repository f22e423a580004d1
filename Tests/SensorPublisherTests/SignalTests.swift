import SampleSources
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SignalTests {
    private static let ancestor = "sine:amplitude=2,angularFrequency=1,phase=0.2,offset=0.5"

    /// sin(0.2) is 0.19866933079506122 when correctly rounded, and nothing after it rounds.
    @Test func theAncestorsSineIsItsToTheLastBit() throws {
        let signal = try SignalSpecification.signal(Self.ancestor)
        #expect(signal.value(at: 0, index: 0) == SIMD3(repeating: 0.8973386615901224))
        let values = (0..<1000).map { signal.value(at: Double($0) / 100, index: 0).x }
        #expect(values.allSatisfy { (-1.5...2.5).contains($0) })
    }

    @Test func theFrequencyIsAnAngularOne() throws {
        let signal = try SignalSpecification.signal("sine:angularFrequency=2")
        #expect(abs(signal.value(at: .pi / 4, index: 0).x - 1) < 1e-15)
    }

    @Test func aSumAddsItsTermsOnTheirAxes() throws {
        let signal = try SignalSpecification.signal("constant:value=1,axes=z+constant:value=1e+1+sine:axes=x,offset=3")
        #expect(signal.value(at: 0, index: 0) == SIMD3(13, 10, 11))
    }

    @Test func spacesBetweenTermsMeanNothing() throws {
        let spaced = try SignalSpecification.signal(" sine:amplitude=2, phase=0.2 + noise:seed=7 ")
        #expect(try SignalSpecification.signal("sine:amplitude=2,phase=0.2+noise:seed=7") == spaced)
    }

    @Test(arguments: [
        "constant:value=1.5", ancestor, "sine:axes=xz", "noise:seed=18446744073709551615,distribution=uniform",
        "walk", "walk:placement=wrist,pause=5,asymmetry=-0.1+noise:amplitude=0.02+sine:axes=y",
    ])
    func theTextOfASignalReadsBackToTheSame(text: String) throws {
        let signal = try SignalSpecification.signal(text)
        #expect(try SignalSpecification.signal(SignalSpecification.text(of: signal)) == signal)
    }

    @Test(arguments: [
        ("", "the kinds are constant, sine, noise, walk"),
        ("cosine:amplitude=1", "there is no kind \"cosine\""),
        (
            "sine:amplitud=1",
            "there is no key \"amplitud\"; the keys are amplitude, angularFrequency, phase, offset, axes"
        ),
        ("sine:amplitude=two", "amplitude: \"two\" is not a number"),
        ("sine:amplitude=nan", "amplitude: \"nan\" is not a number"),
        ("sine:amplitude", "not of the form key=value"),
        ("sine:phase=1,phase=2", "phase is given twice"),
        ("constant:axes=w", "axes: \"w\""),
        ("noise:seed=-1", "seed: \"-1\""),
        ("walk:placement=ankle", "not one of waist, pocket, hand, wrist"),
        ("walk:cadence=0", "a cadence of 0.0"),
        ("sine+walk:cadence=9", "signal \"walk:cadence=9\""),
    ])
    func aBadSpecificationSaysWhatIsWrong(text: String, problem: String) {
        let error = #expect(throws: PublisherError.self) { try SignalSpecification.signal(text) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    /// Golden values: a listener in another language must compute the same.
    @Test func noiseIsAFunctionOfSeedIndexAndAxis() {
        let uniform = Noise(seed: 7, amplitude: 1, distribution: .uniform)
        #expect(uniform.value(index: 0, channel: 0) == 0.04869188335586272)
        #expect(uniform.value(index: 12345, channel: 2) == -0.8698349009933515)
        let normal = Noise(seed: 7, amplitude: 1)
        #expect(abs(normal.value(index: 1, channel: 1) - -0.6908555348964407) < 1e-14)
        #expect(normal.value(index: 1, channel: 1) == Noise(seed: 7, amplitude: 1).value(index: 1, channel: 1))
        #expect(normal.value(index: 1, channel: 1) != Noise(seed: 8, amplitude: 1).value(index: 1, channel: 1))
    }

    @Test(arguments: Noise.Distribution.allCases) func noiseHasItsSpread(distribution: Noise.Distribution) {
        let noise = Noise(seed: 3, amplitude: 0.5, distribution: distribution)
        let count = 20_000
        let values = (0..<Int64(count)).map { noise.vector(index: $0) }
        let mean = values.reduce(.zero, +) / Double(count)
        let squares = values.reduce(SIMD3<Double>.zero) { $0 + $1 * $1 } / Double(count)
        let cross = values.reduce(0) { $0 + $1.x * $1.y } / Double(count)
        let after = zip(values, values.dropFirst()).reduce(0) { $0 + $1.0.x * $1.1.x } / Double(count)
        let variance = distribution == .gaussian ? 0.25 : 0.25 / 3
        for axis in 0..<3 {
            #expect(abs(mean[axis]) < 0.02)
            #expect(abs(squares[axis] / variance - 1) < 0.04)
        }
        #expect(abs(cross) / variance < 0.04)
        #expect(abs(after) / variance < 0.04)
    }

    @Test func aSignalSourceSamplesTheSignalAtItsTimes() throws {
        let signal = try SignalSpecification.signal(Self.ancestor + "+noise:seed=5")
        var source = try SignalSource(signal, rate: 3)
        let samples = try source.samples(10)
        #expect(samples.map(\.time).prefix(4) == [0, 333_333_333, 666_666_667, 1_000_000_000])
        for (index, sample) in samples.enumerated() {
            let value = signal.value(at: Double(sample.time) / 1e9, index: Int64(index))
            #expect(sample.values == [value.x, value.y, value.z])
        }
        source.rewind()
        #expect(try source.samples(10).map(\.values) == samples.map(\.values))
        #expect(source.fields == ["x", "y", "z"])
        #expect(try SignalSpecification.signal(source.description) == signal)
    }

    @Test func asDeviceMotionASineIsUserAcceleration() throws {
        var source = try SignalSource(
            try SignalSpecification.signal(Self.ancestor), rate: 100, shape: .deviceMotion)
        let value = 0.8973386615901224
        #expect(try source.samples(1).first?.values == [value, value, value, 0, 0, 0, 0, 0, 0])
        #expect(source.fields.count == 9)
        #expect(source.fields.first == "userAcceleration.x")
        #expect(source.fields.last == "rotationRate.z")
    }

    @Test(arguments: [0, -1, .nan, .infinity, 2e9]) func anImpossibleRateIsRefused(rate: Double) {
        let error = #expect(throws: PublisherError.self) { try SampleSchedule(rate: rate) }
        #expect(error?.code == .invalidParameter)
    }

    @Test(arguments: [100, 99.9, 1.0 / 3, 12_800]) func timesDoNotDriftOverADay(rate: Double) throws {
        let schedule = try SampleSchedule(rate: rate)
        for index in stride(from: Int64(0), through: Int64(86400 * rate), by: 9973) {
            let exact = Double(index) / rate
            let time = try #require(schedule.time(of: index))
            #expect(abs(Double(time) - exact * 1e9) <= 0.5 + exact * 1e9 * 0x1p-52)
        }
    }
}
