import Messages
@testable import PublisherCore
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RetentionBufferTests {
    private let key = 0

    /// A batch of two columns: the sequence number as uptime, and its negative.
    private func batch(_ first: Int64, _ count: Int) -> RowBatch {
        RowBatch(
            firstSequence: first, count: count,
            rows: (first..<first + Int64(count)).flatMap { [Double($0), -Double($0)] })
    }

    private func sequences(_ answer: ReplayAnswer) -> [Int64] {
        answer.slices.flatMap { slice in
            stride(from: slice.rows.startIndex, to: slice.rows.endIndex, by: 2).map { Int64(slice.rows[$0]) }
        }
    }

    @Test func aRangeIsCutOutOfTheBatches() {
        var buffer = RetentionBuffer()
        for first in stride(from: Int64(0), to: 100, by: 10) { buffer.insert(batch(first, 10), of: key, at: first) }
        let answer = buffer.batches(of: key, from: 25, count: 30, maximumBytes: .max)
        #expect(sequences(answer) == Array(25..<55))
        #expect(answer.slices.map(\.firstSequence) == [25])
        #expect(answer.slices.map(\.count) == [30])
        #expect((answer.from, answer.count) == (25, 30))
        #expect((answer.first, answer.last) == (0, 99))
        #expect(sequences(buffer.batches(of: key, from: 37, count: 1, maximumBytes: .max)) == [37])
        #expect(buffer.batches(of: key, from: 95, count: .max, maximumBytes: .max).count == 5)
    }

    /// Some sources publish batches of one sample. They share memory, and each is still removed when it is too old.
    @Test func smallBatchesShareMemoryAndGoOneByOne() {
        var buffer = RetentionBuffer(maximumAge: 299)
        for first in Int64(0)..<1_000 { buffer.insert(batch(first, 1), of: key, at: first) }
        #expect(buffer.batchCount == 300)
        let answer = buffer.batches(of: key, from: 0, count: 1_000, maximumBytes: .max)
        #expect(sequences(answer) == Array(700..<1_000))
        #expect(answer.slices.count <= 4)
        buffer.expire(at: 1_298)
        #expect(sequences(buffer.batches(of: key, from: 0, count: 1_000, maximumBytes: .max)) == [999])
        buffer.expire(at: 1_299)
        #expect(buffer.bytes == 0 && buffer.isEmpty(at: key))
    }

    @Test func whatHasAnotherReadingOfTheClocksOrOtherColumnsIsApart() {
        var buffer = RetentionBuffer()
        buffer.insert(batch(0, 10), of: key, at: 0, clockDifference: 0)
        buffer.insert(batch(10, 10), of: key, at: 0, clockDifference: 0)
        buffer.insert(batch(20, 10), of: key, at: 0, clockDifference: 1)
        buffer.insert(RowBatch(firstSequence: 30, count: 10, rows: Array(repeating: 0, count: 30)), of: key, at: 0)
        let answer = buffer.batches(of: key, from: 5, count: 100, maximumBytes: .max)
        #expect(answer.slices.map(\.firstSequence) == [5, 20, 30])
        #expect(answer.slices.map(\.rows.count) == [30, 20, 30])
    }

    @Test func whatIsNotThereIsAnsweredWithNothing() {
        var buffer = RetentionBuffer()
        let unknown = buffer.batches(of: key, from: 7, count: 5, maximumBytes: .max)
        #expect((unknown.from, unknown.count, unknown.first, unknown.last) == (7, 0, 0, -1))
        buffer.insert(batch(100, 10), of: key, at: 0)
        for (from, count) in [(Int64(0), 100), (110, 5), (105, 0), (105, -3), (.max, 5), (.min, 5)] {
            let answer = buffer.batches(of: key, from: from, count: count, maximumBytes: .max)
            #expect((answer.from, answer.count, answer.first, answer.last) == (from, 0, 100, 109))
        }
        #expect(buffer.batches(of: 1, from: 100, count: 5, maximumBytes: .max).count == 0)
    }

    /// An allocator's overhead differs between machines and runs, so it must not count.
    @Test func batchesCountByWhatIsInThem() {
        var rows: [Double] = []
        rows.reserveCapacity(1_000)
        rows += [1, -1, 2, -2]
        #expect(rows.trimmed == rows)
        #expect(rows.trimmed.capacity < 100)
        var buffer = RetentionBuffer(maximumBytes: 2 * 4 * 8 + RetentionBuffer.overhead + RetentionBuffer.entry)
        for first in stride(from: Int64(0), to: 6, by: 2) {
            buffer.insert(RowBatch(firstSequence: first, count: 2, rows: rows), of: key, at: 0)
        }
        #expect(buffer.bytes == buffer.maximumBytes)
        #expect(buffer.batchCount == 2, "the last two fit, to the byte")
    }

    @Test func anAnswerBeginsAtTheFirstThatIsKept() {
        var buffer = RetentionBuffer(maximumAge: 10)
        for first in stride(from: Int64(0), to: 50, by: 10) { buffer.insert(batch(first, 10), of: key, at: first) }
        let answer = buffer.batches(of: key, from: 5, count: 30, maximumBytes: .max)
        #expect((answer.from, answer.count, answer.first, answer.last) == (30, 5, 30, 49))
    }

    @Test func theSpanIsTheAgeThatBatchesReach() {
        let second = Nanoseconds.perSecond
        var roomy = RetentionBuffer(maximumAge: 600 * second)
        #expect(roomy.span(at: 0) == nil)
        roomy.insert(batch(0, 100), of: key, at: 0)
        #expect(roomy.span(at: second / 2) == nil, "half a second says nothing about the rate")
        #expect(roomy.span(at: second) == 600)
        var tight = RetentionBuffer(maximumAge: 600 * second, maximumBytes: 20 * roomy.bytes)
        for index in Int64(0)..<100 {
            tight.insert(batch(index * 100, 100), of: key, at: index * second)
            // One batch per second fits: the oldest is as many seconds old as there are other batches.
            if index >= 30 { #expect(tight.span(at: index * second) == Double(tight.batchCount - 1)) }
        }
        #expect((19...22).contains(tight.batchCount))
    }

    @Test func oldBatchesGoWithTime() {
        var buffer = RetentionBuffer(maximumAge: 100)
        buffer.insert(batch(0, 1), of: key, at: 0)
        buffer.insert(batch(1, 1), of: key, at: 50)
        buffer.expire(at: 100)
        #expect(buffer.batchCount == 2)
        buffer.expire(at: 101)
        #expect(buffer.batchCount == 1)
        buffer.expire(at: 1000)
        #expect(buffer.batchCount == 0)
        #expect(buffer.bytes == 0)
        let answer = buffer.batches(of: key, from: 0, count: 5, maximumBytes: .max)
        #expect((answer.count, answer.first, answer.last) == (0, 2, 1))
    }

    @Test func aBatchThatIsTooLargeIsNotKeptAndLeavesAHole() {
        var buffer = RetentionBuffer(maximumBytes: 2000)
        buffer.insert(batch(0, 10), of: key, at: 0)
        buffer.insert(batch(10, 1000), of: key, at: 0)
        #expect(buffer.batchCount == 0)
        buffer.insert(batch(1010, 10), of: key, at: 0)
        let answer = buffer.batches(of: key, from: 0, count: 2000, maximumBytes: .max)
        #expect((answer.from, answer.count) == (1010, 10))
    }

    @Test func anAnswerEndsAtAHole() {
        var buffer = RetentionBuffer()
        buffer.insert(batch(0, 10), of: key, at: 0)
        buffer.insert(batch(20, 10), of: key, at: 0)
        let answer = buffer.batches(of: key, from: 5, count: 100, maximumBytes: .max)
        #expect((answer.from, answer.count) == (5, 5))
        #expect(buffer.batches(of: key, from: 12, count: 100, maximumBytes: .max).from == 20)
    }

    @Test func anAnswerIsAsLongAsItMayBe() {
        var buffer = RetentionBuffer()
        for first in stride(from: Int64(0), to: 1_000, by: 100) { buffer.insert(batch(first, 100), of: key, at: 0) }
        let size = 2 * (RetentionBuffer.overhead + 100 * 16) - 1
        #expect(buffer.batches(of: key, from: 0, count: 1_000, maximumBytes: size).count == 199)
        #expect(buffer.batches(of: key, from: 0, count: 100, maximumBytes: 0).count == 1)
        #expect(buffer.batches(of: key, from: 0, count: 0, maximumBytes: 0).count == 0)
    }

    @Test(arguments: [1, 2, 3, 4]) func boundsHoldAndAnswersAreRightWhateverHappens(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        let limit = 20_000
        var buffer = RetentionBuffer(maximumAge: 500, maximumBytes: limit)
        // The model: every batch ever inserted, in order, and whether it should still be kept.
        var model: [(key: Int, first: Int64, count: Int, at: Int64)] = []
        var next: [Int64] = [0, 0, 0]
        var now: Int64 = 0
        for _ in 0..<3000 {
            now += Int64.random(in: 0...20, using: &generator)
            let index = Int.random(in: 0..<3, using: &generator)
            let count = Int.random(in: 1...60, using: &generator)
            buffer.insert(batch(next[index], count), of: index, at: now)
            model.append((index, next[index], count, now))
            next[index] += Int64(count)
            #expect(buffer.bytes <= limit)
            #expect(buffer.bytes >= buffer.batchCount * RetentionBuffer.entry)
            let dropped = model.count - buffer.batchCount
            if dropped > 0 {
                // A batch is removed only if it is too old, or if all would need too much with memory of their own.
                let cost = model[(dropped - 1)...].reduce(0) { $0 + $1.count * 16 + RetentionBuffer.overhead }
                #expect(now - model[dropped - 1].at > 500 || cost > limit)
            }
            model.removeFirst(dropped)
            #expect(model.allSatisfy { now - $0.at <= 500 })

            let asked = Int.random(in: 0..<3, using: &generator)
            let from = Int64.random(in: max(0, next[asked] - 800)...next[asked] + 10, using: &generator)
            let wanted = Int.random(in: 0...400, using: &generator)
            let kept = model.filter { $0.key == asked }
            let first = kept.first?.first ?? next[asked]
            let expected = Array(max(first, from)..<max(first, from, min(next[asked], from + Int64(wanted))))
            let answer = buffer.batches(of: asked, from: from, count: wanted, maximumBytes: .max)
            #expect(sequences(answer) == expected)
            #expect(answer.from == expected.first ?? from)
            #expect(answer.count == expected.count)
            #expect(answer.first == first)
            #expect(answer.last == next[asked] - 1)
        }
        #expect(model.count > 5)
    }
}
