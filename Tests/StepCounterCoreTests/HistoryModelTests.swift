import Messages
import StepCounterCore
import StepDetection
import StepStorage
import TestSupport
import Testing

/// The history on disk behaves like its model, even after it was reopened.
@Suite(.timeLimit(.minutes(1)))
struct HistoryModelTests {
    private static let start = WallTime(seconds: 1_795_219_200)
    private static let names = ["a/accelerometer", "a/raw", "b/accelerometer", "c/accelerometer"].compactMap {
        StreamName($0)
    }

    private func subscription(_ id: String, using random: inout SplitMix) -> StepSubscription {
        StepSubscription(
            id: id, device: "a", name: Bool.random(using: &random) ? id : nil,
            updateOn: .random(in: 1...3, using: &random), startDate: Self.start,
            countedFrom: Bool.random(using: &random) ? Self.start : nil,
            renewedDate: WallTime(seconds: Self.start.seconds + .random(in: 0...99, using: &random).rounded()),
            lifetime: Bool.random(using: &random) ? .random(in: 1...99, using: &random) : nil,
            numberOfSteps: .random(in: 0...99, using: &random), lastDate: Self.start)
    }

    private func spans(_ round: Int, using random: inout SplitMix) -> [CountedSpan] {
        (0..<Int.random(in: 0...3, using: &random)).map { index in
            let start = Self.start.seconds + 30 * Double(round) + 7 * Double(index)
            let isLoss = Bool.random(using: &random)
            return CountedSpan(
                number: round + index + 1, start: WallTime(seconds: start),
                end: WallTime(seconds: start + .random(in: 0...6, using: &random).rounded()),
                lost: isLoss ? .random(in: 0...9, using: &random) : 0, reason: isLoss ? .notRetained : nil)
        }
    }

    private func commit(_ round: Int, using random: inout SplitMix) -> StepCommit {
        var commit = StepCommit()
        for name in Self.names where Bool.random(using: &random) {
            commit.steps[name.device, default: []] += (0..<Int.random(in: 0...5, using: &random)).map { _ in
                CountedStep(
                    date: WallTime(
                        seconds: Self.start.seconds + Double.random(in: 0..<1_000, using: &random).rounded()))
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
            commit.spans[name.device] = spans(round, using: &random)
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
                        steps: WallTime(seconds: now.seconds - 300), positions: WallTime(seconds: now.seconds - 200),
                        clock: HistoryClock.State(
                            date: now, ahead: Int64(round), stood: .random(in: 0...9, using: &random)))
                    try history.remove(removal)
                    model.remove(removal)
                default:
                    let commit = commit(round, using: &random)
                    try history.commit(commit, at: now)
                    model.commit(commit, at: now)
                }
                #expect(try history.positions() == model.positions.mapValues(\.position), "seed \(seed)")
                let subscriptions = try history.subscriptions()
                #expect(
                    subscriptions == model.subscriptions.values.sorted { $0.id < $1.id }, "seed \(seed)")
                #expect(try history.spans() == model.lastSpans, "seed \(seed)")
                #expect(try history.clock() == model.clock, "seed \(seed)")
                let reader = try StepHistoryReader(in: data, keep: 1 << 60)
                for device in ["a", "b", "c"] {
                    let query = StepsQuery(
                        device: device, from: Self.start, to: WallTime(seconds: Self.start.seconds + 1e4))
                    let reply = try reader.answer(query, at: now)
                    #expect(reply.numberOfSteps == model.steps[device]?.count ?? 0, "seed \(seed)")
                    let expected = Coverage(
                        of: query.from..<query.to,
                        in: model.spans[device, default: [:]].values.sorted {
                            ($0.start, $0.number) < ($1.start, $1.number)
                        })
                    #expect(reply.coverage == expected.share && reply.gaps == expected.gaps, "seed \(seed)")
                }
            }
        }
    }
}
