import Glibc
import Messages
import StepDetection
import SystemPackage
import TestSupport
import Testing

@testable import StepCounter

/// Counting that is killed over and over, as the program does it and what it can rely on: samples again from where a
/// detector was stored, and what is stored together.
@Suite(.timeLimit(.minutes(1)))
struct RestartTests {
    private static let stream = StreamName(device: "phone", stream: "accelerometer")
    private static let settings = StepDetectorSettings(perG: 1)
    private static let rate = 25
    private static let samples = 55 * rate

    /// Two bouts of walking with rest before, between and after.
    private static func magnitude(_ sample: Int) -> Double {
        let time = Double(sample) / Double(rate)
        let isWalking = (5..<25).contains(time) || (32..<50).contains(time)
        return 1 + (isWalking ? 0.3 * sin(2 * .pi * 1.8 * time) : 0)
    }

    /// A run of the program.
    private struct Run {
        let history: StepHistory
        var detector: StepDetector
        /// The next sample, and the first whose steps are not stored.
        var sample: Int
        let uncounted: Int
        var commit = StepCommit()

        init(in data: FilePath) throws {
            history = try StepHistory(in: data)
            let position = try history.positions()[stream]
            uncounted = position?.next ?? 0
            sample = position?.snapshot?.next ?? 0
            detector = try #require(
                position?.snapshot.map { StepDetector(state: $0.state, $0.settings) } ?? StepDetector(settings))
        }

        /// Takes samples, committing each second and storing the detector every fourth, and is killed after so many.
        mutating func take(_ count: Int) throws {
            for _ in 0..<min(count, samples - sample) {
                let isNew = sample >= uncounted
                detector.add(time: Double(sample) / Double(rate), x: magnitude(sample), y: 0, z: 0) { event in
                    guard isNew, case .step(let step) = event else { return }
                    commit.steps["phone", default: []].append(WallTime(seconds: 1000 + step.time))
                }
                sample += 1
                guard isNew, sample % rate == 0 else { continue }
                let isDue = sample % (4 * rate) == 0
                guard isDue || !commit.steps.isEmpty else { continue }
                commit.positions[stream] = StreamPosition(
                    epoch: "e", next: sample,
                    snapshot: isDue
                        ? DetectorSnapshot(next: sample, state: detector.state, settings: settings) : nil)
                try history.commit(commit)
                commit = StepCommit()
            }
        }

        mutating func finish() throws {
            try take(.max)
            try history.commit(commit)
        }
    }

    @Test func noStepIsLostOrDoubledByKills() throws {
        let whole = try withTemporaryDirectory { data in
            var run = try Run(in: data)
            try run.finish()
            return try run.history.dates(of: "phone")
        }
        #expect(abs(whole.count - 68) <= 2)
        for seed in UInt64(1)...3 {
            var random = SplitMix(seed: seed)
            try withTemporaryDirectory { data in
                var runs = 0
                while true {
                    var run = try Run(in: data)
                    runs += 1
                    let length = Int.random(in: 1...300, using: &random)
                    if runs > 40 || run.sample + length >= Self.samples {
                        try run.finish()
                        break
                    }
                    // What is not committed is gone with the run.
                    try run.take(length)
                }
                #expect(runs > 5, "seed \(seed)")
                #expect(try StepHistory(in: data).dates(of: "phone") == whole, "seed \(seed)")
            }
        }
    }
}
