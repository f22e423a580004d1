import Messages
import Testing

@testable import StepCounter

/// Whose turn it is to ask.
@Suite(.timeLimit(.minutes(1)))
struct RecoveryTurnsTests {
    private static func stream(_ number: Int) -> StreamName { StreamName(device: "d\(number)", stream: "a") }

    @Test func everybodyHasATurnAndNotTooManyAtOnce() {
        var turns = RecoveryTurns()
        for number in 0..<1_000 { turns.add(Self.stream(number), at: "tcp://p:\(number % 10)") }
        var served: Set<StreamName> = []
        var underWay: [StreamName] = []
        while true {
            while let stream = turns.next() {
                underWay.append(stream)
                #expect(served.insert(stream).inserted)
            }
            #expect(underWay.count <= RecoveryTurns.maximum)
            let perPublisher = Dictionary(grouping: underWay) { $0.device.last }
            #expect(perPublisher.values.allSatisfy { $0.count <= RecoveryTurns.maximumAtOnePublisher })
            guard !underWay.isEmpty else { break }
            turns.end(underWay.removeFirst())
        }
        #expect(served.count == 1_000)
    }

    @Test func aPublisherThatDoesNotAnswerKeepsNobodyWaitingButItsOwn() {
        var turns = RecoveryTurns()
        for number in 0..<100 { turns.add(Self.stream(number), at: "tcp://silent:1") }
        var silent = 0
        while turns.next() != nil { silent += 1 }
        #expect(silent == RecoveryTurns.maximumAtOnePublisher)
        for number in 100..<200 {
            turns.add(Self.stream(number), at: "tcp://other:1")
            #expect(turns.next() == Self.stream(number))
            #expect(turns.next() == nil)
            turns.end(Self.stream(number))
        }
    }

    @Test func aStreamMayAskAgain() {
        var turns = RecoveryTurns()
        for _ in 0..<3 {
            turns.add(Self.stream(1), at: "tcp://p:1")
            #expect(turns.next() == Self.stream(1))
            turns.end(Self.stream(1))
            // Ending twice does no harm.
            turns.end(Self.stream(1))
        }
    }
}
