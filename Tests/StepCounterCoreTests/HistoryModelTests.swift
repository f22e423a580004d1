import Messages
import StepCounterCore
import StepDetection
import StepStorage
import TestSupport
import Testing

/// The history on disk does what its model does, also when it was opened again.
@Suite(.timeLimit(.minutes(1)))
struct HistoryModelTests {
    private static let start = WallTime(seconds: 1_795_219_200)
    private static let names = ["a/accelerometer", "a/raw", "b/accelerometer", "c/accelerometer"].compactMap {
        StreamName($0)
    }

    private func subscription(_ id: String, using random: inout SplitMix) -> StepSubscription {
        StepSubscription(
            id: id, device: "a", updateOn: 3, startDate: Self.start, numberOfSteps: .random(in: 0...99, using: &random),
            lastDate: Self.start)
    }

    private func commit(_ round: Int, using random: inout SplitMix) -> StepCommit {
        var commit = StepCommit()
        for name in Self.names where Bool.random(using: &random) {
            commit.steps[name.device, default: []] += (0..<Int.random(in: 0...5, using: &random)).map { _ in
                WallTime(seconds: Self.start.seconds + Double.random(in: 0..<1_000, using: &random).rounded())
            }
            var position = StreamPosition(
                epoch: "\(round / 7)", next: .random(in: 9...99, using: &random)
            )
            if Bool.random(using: &random) {
                position.snapshot = DetectorSnapshot(
                    next: 7, state: [.random(in: 0...9, using: &random)], settings: StepDetectorSettings(perG: 1),
                    boutStart: Bool.random(using: &random) ? Self.start : nil)
            }
            commit.positions[name] = position
        }
        if let name = Self.names.randomElement(using: &random), commit.positions[name] == nil {
            commit.abandoned = [name]
        }
        for id in ["x", "y", "z"] {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: commit.note(subscription(id, using: &random))
            case 1: commit.stopped.insert(id)
            default: break
            }
        }
        return commit
    }

    @Test(arguments: RandomCountingTests.seeds.prefix(8))
    func theHistoryIsAsItsModel(seed: UInt64) throws {
        try withTemporaryDirectory { data in
            var random = SplitMix(seed: seed)
            var model = HistoryModel()
            var history = try StepHistory(in: data, at: Self.start)
            for round in 0..<30 {
                let now = WallTime(seconds: Self.start.seconds + 30 * Double(round))
                switch Int.random(in: 0..<8, using: &random) {
                case 0: history = try StepHistory(in: data, at: now)
                case 1:
                    let removal = StepCounting.Removal(
                        steps: WallTime(seconds: now.seconds - 300), positions: WallTime(seconds: now.seconds - 200))
                    try history.remove(removal)
                    model.remove(removal)
                default:
                    let commit = commit(round, using: &random)
                    try history.commit(commit, at: now)
                    model.commit(commit, at: now)
                }
                #expect(try history.positions() == model.positions.mapValues(\.position), "seed \(seed)")
                let totals = Dictionary(
                    uniqueKeysWithValues: try history.subscriptions().map { ($0.id, $0.numberOfSteps) })
                #expect(totals == model.subscriptions.mapValues(\.numberOfSteps), "seed \(seed)")
                let reader = try StepHistoryReader(in: data, keep: 1 << 60)
                for device in ["a", "b", "c"] {
                    let query = StepsQuery(
                        device: device, from: Self.start, to: WallTime(seconds: Self.start.seconds + 1e4))
                    let steps = try reader.answer(query, at: now).numberOfSteps
                    #expect(steps == model.steps[device]?.count ?? 0, "seed \(seed)")
                }
            }
        }
    }
}
