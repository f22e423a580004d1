import MessageBus
import Testing

@Suite
struct SequenceCursorTests {
    @Test func batchesInOrderAreTakenWhole() {
        var cursor = SequenceCursor(next: 0)
        for sequence in stride(from: 0, to: 100, by: 10) {
            #expect(cursor.arrival(of: sequence, count: 10) == .next(skip: 0))
            cursor.advance(to: sequence + 10)
        }
        #expect(cursor.next == 100)
    }

    @Test func whatWasHadBeforeIsSkipped() {
        let cursor = SequenceCursor(next: 100)
        #expect(cursor.arrival(of: 90, count: 10) == .duplicate)
        #expect(cursor.arrival(of: 95, count: 10) == .next(skip: 5))
        #expect(cursor.arrival(of: 0, count: 100) == .duplicate)
        #expect(cursor.arrival(of: 0, count: 101) == .next(skip: 100))
    }

    @Test func whatIsMissingIsNamed() {
        let cursor = SequenceCursor(next: 100)
        #expect(cursor.arrival(of: 101, count: 10) == .gap(100..<101))
        #expect(cursor.arrival(of: 250, count: 1) == .gap(100..<250))
    }

    @Test func aCursorNeverGoesBack() {
        var cursor = SequenceCursor(next: 100)
        cursor.advance(to: 50)
        #expect(cursor.next == 100)
    }
}
