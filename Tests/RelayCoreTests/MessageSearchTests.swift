import Messages
import TestSupport
import Testing

@testable import RelayCore

/// Searches for samples in a NATS stream.
@Suite(.timeLimit(.minutes(1)))
struct MessageSearchTests {
    /// Messages of one subject among others, with gaps in their message numbers and in their samples.
    private static func messages(_ random: inout SplitMix) -> [ServedStream.Mark] {
        var marks: [ServedStream.Mark] = []
        var sequence: UInt64 = 1
        for epoch in ["a", "b"] {
            var from = Int.random(in: 0..<50, using: &random)
            for _ in 0..<Int.random(in: 1..<60, using: &random) {
                sequence += .random(in: 1..<20, using: &random)
                let count = Int.random(in: 1..<10, using: &random)
                marks.append(
                    ServedStream.Mark(sequence: sequence, place: BatchPlace(epoch: epoch, from: from, count: count)))
                from += count + (Int.random(in: 0..<8, using: &random) == 0 ? 5 : 0)
            }
        }
        return marks
    }

    @Test func theFirstMessageThatIsNotBeforeASampleIsFound() {
        var random = SplitMix(seed: 21)
        for _ in 0..<300 {
            let marks = Self.messages(&random)
            let (epoch, sample) = ("b", Int.random(in: 0..<700, using: &random))
            let last = marks[marks.count - 1].sequence
            var search = MessageSearch(epoch: epoch, sample: sample, in: 1...last)
            var steps = 0
            while let next = search.next {
                search.take(marks.first { $0.sequence >= next })
                steps += 1
            }
            #expect(search.found == marks.first { $0.place.epoch == epoch && $0.place.end > sample })
            #expect(steps <= 14)
        }
    }

    private func message(_ from: Int, _ count: Int, epoch: String = "e") -> RelayedMessage {
        RelayedMessage([
            RelayedEvent(
                name: StreamName(device: "d", stream: "s"), place: BatchPlace(epoch: epoch, from: from, count: count),
                body: [UInt8(from)], packed: nil, time: [])
        ])
    }

    private func added(_ message: RelayedMessage, to replay: inout ReplayCollection) -> Bool { replay.add(message) }

    @Test func aReplayIsARangeWithoutHoles() {
        var replay = ReplayCollection(epoch: "e", from: 12, count: 20, maximumBytes: 1_000_000)
        #expect(added(message(10, 5), to: &replay))
        // Cut differently, but already received.
        #expect(added(message(11, 3), to: &replay))
        #expect(added(message(13, 7), to: &replay))
        #expect(!added(message(25, 5), to: &replay))
        #expect(replay.first == 10)
        #expect(replay.count == 10)
        #expect(replay.frames == [[10], [13]])
    }

    @Test func aReplayEndsWhereItIsLongEnough() {
        var replay = ReplayCollection(epoch: "e", from: 0, count: 5, maximumBytes: 1_000_000)
        #expect(added(message(0, 3), to: &replay))
        #expect(!added(message(3, 3), to: &replay))
        #expect(replay.count == 6)
        var short = ReplayCollection(epoch: "e", from: 0, count: 5, maximumBytes: 1)
        #expect(!added(message(0, 3), to: &short))
        #expect(short.count == 3)
        var other = ReplayCollection(epoch: "e", from: 0, count: 5, maximumBytes: 1)
        #expect(!added(message(0, 3, epoch: "f"), to: &other))
        #expect(other.first == nil && other.count == 0)
    }
}
