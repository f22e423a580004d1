import Messages
import TestSupport
import Testing

@testable import RelayCore

/// Searches for a sample while replicas lack messages.
@Suite(.timeLimit(.minutes(1)))
struct SampleSearchTests {
    private typealias Search = SampleSearch<Void>
    private typealias Message = Search.Message

    /// The messages of a stream on three servers. Each server may lack the latest, even a former leader that does not know of the
    /// next one. If the servers diverge, replicas lack some messages permanently.
    private struct Servers {
        private let messages: [Message]
        private var replicas: [[Message]]
        private var random: SplitMix
        private let epoch: String
        private let isKnown: Bool
        /// The stored samples of the epoch.
        let samples: Set<Int>
        let last: Message
        let end: Int

        /// - Parameters:
        ///   - epoch: the epoch to search.
        ///   - isKnown: whether its place is known, and how much of it is stored.
        init(seed: UInt64, _ epoch: String, isKnown: Bool, diverging: Bool) {
            random = SplitMix(seed: seed)
            (self.epoch, self.isKnown) = (epoch, isKnown)
            var marks: [ServedStream.Mark] = []
            var sequence: UInt64 = 1
            for epoch in ["a", "b", "c"] {
                var from = 0
                for _ in 0..<Int.random(in: 1..<80, using: &random) {
                    sequence += .random(in: 1..<20, using: &random)
                    let count = Int.random(in: 1..<10, using: &random)
                    let place = BatchPlace(epoch: epoch, from: from, count: count)
                    marks.append(ServedStream.Mark(sequence: sequence, place: place))
                    from += count
                    if Int.random(in: 0..<8, using: &random) == 0 {
                        // The next samples are lost,
                        from += 5
                    } else if count > 1, !diverging, Int.random(in: 0..<8, using: &random) == 0 {
                        // or a shorter message was overtaken by this longer one.
                        sequence += 1
                        let begin = BatchPlace(epoch: epoch, from: place.from, count: 1)
                        marks.append(ServedStream.Mark(sequence: sequence, place: begin))
                    }
                }
            }
            messages = marks.map { ($0, ()) }
            last = messages[messages.count - 1]
            samples = Set(marks.filter { $0.place.epoch == epoch }.flatMap { $0.place.from..<$0.place.end })
            end = (samples.max() ?? 0) + 1
            replicas = []
            for _ in 0..<3 {
                var replica = messages
                if diverging { replica.removeAll { _ in Int.random(in: 0..<10, using: &random) == 0 } }
                replicas.append(replica)
            }
        }

        /// - Parameter reach: the part of the messages that every server has at least.
        mutating func answer(_ question: Search.Question, reach: Double) -> [Message] {
            func has(_ messages: [Message]) -> ArraySlice<Message> {
                messages.prefix(Int(Double.random(in: reach...1, using: &random) * Double(messages.count)))
            }
            switch question {
            case .last: return has(messages).suffix(1)
            case .message(let sequence, let isAtLeader):
                let server = has(isAtLeader ? messages : replicas[Int.random(in: 0..<3, using: &random)])
                return server.first { $0.mark.sequence >= sequence }.map { [$0] } ?? []
            case .messages(let sequence):
                let replica = has(replicas[Int.random(in: 0..<3, using: &random)])
                return Array(replica.filter { $0.mark.sequence >= sequence }.prefix(.random(in: 1..<9, using: &random)))
            }
        }

        mutating func search(for sample: Int, reach: Double) throws -> Search.Outcome {
            let request = SamplesReplay(device: "d", stream: "s", epoch: epoch, from: sample, count: 1)
            let place = messages.last { $0.mark.place.epoch == epoch }.map { 1...$0.mark.sequence }
            // All runs before the last one are older than the known messages.
            let known = messages.first { $0.mark.place.epoch == "c" } ?? last
            var search = Search(
                ReplayPlan(
                    subject: "holdfast.lab.d.s", range: SamplesReplay.Range(request), place: isKnown ? place : nil,
                    knownEnd: isKnown ? end : sample, knownLast: known.mark.sequence))
            while let question = search.next { search.take(answer(question, reach: reach)) }
            return try #require(search.outcome)
        }
    }

    /// - Returns: the number of searches that found a hole, and of those that had too little information.
    private func search(
        _ seed: UInt64, _ epoch: String = "b", isKnown: Bool = true, reach: Double, diverging: Bool
    ) throws -> (holes: Int, unclear: Int) {
        var servers = Servers(seed: seed, epoch, isKnown: isKnown, diverging: diverging)
        var (holes, unclear) = (0, 0)
        for sample in 0..<servers.end {
            let isStored = servers.samples.contains(sample)
            switch try servers.search(for: sample, reach: reach) {
            case .found(let message):
                #expect(message.mark.place.from <= sample && sample < message.mark.place.end, "seed \(seed)")
                #expect(message.mark.place.epoch == epoch, "seed \(seed)")
            case .hole(let message):
                holes += 1
                #expect(!isStored, "seed \(seed), sample \(sample)")
                let next = try #require(servers.samples.filter { $0 > sample }.min())
                #expect(message.mark.place.from == next, "seed \(seed), sample \(sample)")
            case .unclear: unclear += 1
            case .nothing, .unknownEpoch: Issue.record("seed \(seed): sample \(sample) is given up")
            }
        }
        return (holes, unclear)
    }

    /// The stream's last run, an earlier one, and runs whose place is unknown.
    @Test(arguments: [("c", true), ("b", true), ("c", false), ("b", false), ("a", false)])
    func replicasThatHaveEverythingShowEachSampleAndEachHole(epoch: String, isKnown: Bool) throws {
        var holes = 0
        for seed in 0..<6 {
            let found = try search(UInt64(seed), epoch, isKnown: isKnown, reach: 1, diverging: false)
            #expect(found.unclear == 0)
            holes += found.holes
        }
        #expect(holes > 10)
    }

    /// Messages missing from a replica are never mistaken for a hole, and real holes are still found.
    @Test(arguments: [("c", true), ("b", true), ("b", false), ("a", false)], [0.9, 0.5])
    func whatReplicasLackIsNoHole(of run: (epoch: String, isKnown: Bool), reach: Double) throws {
        var holes = 0
        for seed in 0..<4 {
            holes += try search(UInt64(seed), run.epoch, isKnown: run.isKnown, reach: reach, diverging: false).holes
        }
        #expect(holes > 0)
    }

    @Test(arguments: [true, false])
    func whatReplicasLackForGoodIsNoHole(isKnown: Bool) throws {
        var holes = 0
        for seed in 0..<6 { holes += try search(UInt64(seed), isKnown: isKnown, reach: 1, diverging: true).holes }
        #expect(holes > 10)
    }

    /// The leader of a silent stream has none of its messages: it lags behind, or they were removed because of their age.
    @Test(arguments: [(30, false), (31, true)] as [(UInt64, Bool)])
    func removedSamplesAreDistinguishedFromThoseThatALeaderLacks(first: UInt64, areRemoved: Bool) throws {
        let request = SamplesReplay(device: "d", stream: "s", epoch: "e", from: 5, count: 5)
        var search = Search(
            ReplayPlan(
                subject: "holdfast.lab.d.s", range: SamplesReplay.Range(request), place: 10...30, knownEnd: 20,
                knownLast: 30))
        while let question = search.next { search.take([], first: question == .last ? first : 0) }
        let isUnknown = if case .unknownEpoch = search.outcome { true } else { false }
        let isUnclear = if case .unclear = search.outcome { true } else { false }
        #expect(isUnknown == areRemoved && isUnclear == !areRemoved)
    }

    /// If the servers dropped a run or never had it, that is not mistaken for a server that lags behind.
    @Test(arguments: [true, false])
    func aRunThatIsGoneIsUnknown(isKnown: Bool) throws {
        var servers = Servers(seed: 1, "d", isKnown: isKnown, diverging: false)
        guard case .unknownEpoch = try servers.search(for: 0, reach: 1) else {
            Issue.record("it was looked for in vain")
            return
        }
    }
}
