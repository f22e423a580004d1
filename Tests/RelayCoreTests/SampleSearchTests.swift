import Messages
import TestSupport
import Testing

@testable import RelayCore

/// How a sample is found where replicas lack messages.
@Suite(.timeLimit(.minutes(1)))
struct SampleSearchTests {
    private typealias Search = SampleSearch<Void>
    private typealias Message = Search.Message

    /// Messages of a stream on three servers. Each may lack the latest, also one that was the leader and does not know of the next one. If
    /// they diverge, replicas lack some for good.
    private struct Servers {
        private let messages: [Message]
        private var replicas: [[Message]]
        private var random: SplitMix
        let samples: Set<Int>
        let last: Message

        init(seed: UInt64, diverging: Bool) {
            random = SplitMix(seed: seed)
            var marks: [ServedStream.Mark] = []
            var sequence: UInt64 = 1
            for epoch in ["a", "b"] {
                var from = 0
                for _ in 0..<Int.random(in: 1..<80, using: &random) {
                    sequence += .random(in: 1..<20, using: &random)
                    let count = Int.random(in: 1..<10, using: &random)
                    let place = BatchPlace(epoch: epoch, from: from, count: count)
                    marks.append(ServedStream.Mark(sequence: sequence, place: place))
                    from += count
                    if Int.random(in: 0..<8, using: &random) == 0 {
                        // It is lost,
                        from += 5
                    } else if count > 1, !diverging, Int.random(in: 0..<8, using: &random) == 0 {
                        // or was overtaken by a longer one.
                        sequence += 1
                        let begin = BatchPlace(epoch: epoch, from: place.from, count: 1)
                        marks.append(ServedStream.Mark(sequence: sequence, place: begin))
                    }
                }
            }
            messages = marks.map { ($0, ()) }
            last = messages[messages.count - 1]
            samples = Set(marks.filter { $0.place.epoch == "b" }.flatMap { $0.place.from..<$0.place.end })
            replicas = []
            for _ in 0..<3 {
                var replica = messages
                if diverging { replica.removeAll { _ in Int.random(in: 0..<10, using: &random) == 0 } }
                replicas.append(replica)
            }
        }

        /// - Parameter reach: which part of the messages a server has at least.
        mutating func answer(_ question: Search.Question, reach: Double) -> [Message] {
            func has(_ messages: [Message]) -> ArraySlice<Message> {
                messages.prefix(Int(Double.random(in: reach...1, using: &random) * Double(messages.count)))
            }
            switch question {
            case .message(let sequence, let isAtLeader):
                let server = has(isAtLeader ? messages : replicas[Int.random(in: 0..<3, using: &random)])
                return server.first { $0.mark.sequence >= sequence }.map { [$0] } ?? []
            case .messages(let sequence):
                let replica = has(replicas[Int.random(in: 0..<3, using: &random)])
                return Array(replica.filter { $0.mark.sequence >= sequence }.prefix(.random(in: 1..<9, using: &random)))
            }
        }

        mutating func search(for sample: Int, reach: Double) throws -> Search.Outcome {
            let request = SamplesReplay(device: "d", stream: "s", epoch: "b", from: sample, count: 1)
            var search = Search(
                ReplayPlan(
                    subject: "holdfast.lab.d.s", range: SamplesReplay.Range(request), place: 1...last.mark.sequence,
                    knownEnd: last.mark.place.end))
            while let question = search.next { search.take(answer(question, reach: reach)) }
            return try #require(search.outcome)
        }
    }

    /// - Returns: how many searches found a hole, and how many found nothing.
    private func search(
        _ seed: UInt64, reach: Double, diverging: Bool
    ) throws -> (holes: Int, nothing: Int) {
        var servers = Servers(seed: seed, diverging: diverging)
        var (holes, nothing) = (0, 0)
        for sample in 0..<servers.last.mark.place.end {
            let isStored = servers.samples.contains(sample)
            switch try servers.search(for: sample, reach: reach) {
            case .found(let message):
                #expect(message.mark.place.from <= sample && sample < message.mark.place.end, "seed \(seed)")
                #expect(message.mark.place.epoch == "b", "seed \(seed)")
            case .hole(let message):
                holes += 1
                #expect(!isStored, "seed \(seed), sample \(sample)")
                let next = try #require(servers.samples.filter { $0 > sample }.min())
                #expect(message.mark.place.from == next, "seed \(seed), sample \(sample)")
            case .nothing: nothing += 1
            }
        }
        return (holes, nothing)
    }

    @Test func replicasThatHaveEverythingShowEachSampleAndEachHole() throws {
        var holes = 0
        for seed in 0..<6 {
            let found = try search(UInt64(seed), reach: 1, diverging: false)
            #expect(found.nothing == 0)
            holes += found.holes
        }
        #expect(holes > 10)
    }

    /// What they lack is never taken for a hole, and holes are found nevertheless.
    @Test(arguments: [0.9, 0.5])
    func whatReplicasLackIsNoHole(reach: Double) throws {
        var holes = 0
        for seed in 0..<6 { holes += try search(UInt64(seed), reach: reach, diverging: false).holes }
        #expect(holes > 0)
    }

    @Test func whatReplicasLackForGoodIsNoHole() throws {
        var holes = 0
        for seed in 0..<6 { holes += try search(UInt64(seed), reach: 1, diverging: true).holes }
        #expect(holes > 10)
    }
}
