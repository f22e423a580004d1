import Messages
import PublisherCore
import SampleSources
import TestSupport
import Testing

/// Devices whose samples have times but no numbers.
@Suite(.timeLimit(.minutes(1)))
struct TimedInputTests {
    private static let millisecond: Int64 = 1_000_000

    private static func format(rate: Double?) -> TimedInput.Format {
        TimedInput.Format(fields: ["x"], unit: "g", rate: rate, description: "a device")
    }

    private static func input(rate: Double?, tolerance: Int64 = 0, batch: Int = 1) throws -> TimedInput {
        let input = try TimedInput(tolerance: tolerance) { _ in batch }
        try input.connect(format(rate: rate))
        try input.start(at: 0)
        return input
    }

    private static func rows(_ milliseconds: [Int64]) -> PushedRows {
        var rows = PushedRows(fields: ["x"])
        for time in milliseconds { rows.append([Double(time)], time: time * millisecond) }
        return rows
    }

    /// The first value of each sample, which is its time in milliseconds, and each loss as a negative count.
    private static func summary(_ pieces: [TimedInput.Piece]) -> [Int] {
        pieces.flatMap { piece in
            switch piece {
            case .lost(let count): [-count]
            case .batch(let batch): stride(from: 1, to: batch.rows.count, by: 2).map { Int(batch.rows[$0]) }
            }
        }
    }

    @Test func aPauseThatHasRoomForASampleIsALossOfAboutAsManyAsFit() throws {
        let input = try Self.input(rate: 100)
        let pieces = input.take(Self.rows([0, 10, 24, 34, 54, 64, 1_064]), offset: 0, at: 0)
        // 14 ms are jitter.
        #expect(Self.summary(pieces) == [0, 10, 24, 34, -1, 54, 64, -99, 1_064])
        #expect(input.flush(at: 0) == nil)
    }

    @Test func batchesEndAtALossAndTheNumbersGoOnBehindIt() throws {
        let input = try Self.input(rate: 100, batch: 3)
        let pieces = input.take(Self.rows([0, 10, 50, 60, 70, 80]), offset: 5 * Self.millisecond, at: 0)
        #expect(
            pieces == [
                .batch(RowBatch(firstSequence: 0, count: 2, rows: [0.005, 0, 0.015, 10])), .lost(3),
                .batch(RowBatch(firstSequence: 5, count: 3, rows: [0.055, 50, 0.065, 60, 0.075, 70])),
            ])
        #expect(input.flush(at: 0)?.firstSequence == 8)
    }

    /// The times and the clock of an outlet on the network are not trusted.
    @Test func timesAtTheLimitsAreFarApart() throws {
        let input = try Self.input(rate: 100)
        let latest = Nanoseconds.limit / Self.millisecond
        _ = input.take(Self.rows([-latest]), offset: -Nanoseconds.limit, at: 0)
        let pieces = input.take(Self.rows([latest]), offset: Nanoseconds.limit, at: 0)
        #expect(Self.summary(pieces) == [-1_000_000, Int(latest)])
    }

    @Test func withoutARateNoPauseIsTooLong() throws {
        let input = try Self.input(rate: nil)
        #expect(Self.summary(input.take(Self.rows([0, 10, 90_000]), offset: 0, at: 0)) == [0, 10, 90_000])
    }

    @Test func aPauseWithinTheToleranceIsNoLoss() throws {
        let input = try Self.input(rate: 1_000, tolerance: 500 * Self.millisecond)
        #expect(
            Self.summary(input.take(Self.rows([0, 1, 400, 900, 1_401]), offset: 0, at: 0)) == [
                0, 1, 400, 900, -500, 1_401,
            ])
    }

    @Test(arguments: [(nil, 1), (10.0, 39)] as [(Double?, Int)])
    func whatWasAwayHasLostSomething(rate: Double?, lost: Int) throws {
        let input = try Self.input(rate: rate)
        _ = input.take(Self.rows([0, 100]), offset: 0, at: 0)
        #expect(input.interrupt(PublisherError(.unreadable, "gone"), at: 0) == nil)
        #expect(input.failure?.message == "gone")
        _ = input.interrupt(PublisherError(.unreadable, "still gone"), at: 0)
        try input.connect(Self.format(rate: rate))
        #expect(input.failure == nil)
        #expect(Self.summary(input.take(Self.rows([4_100, 4_200]), offset: 0, at: 0)) == [-lost, 4_100, 4_200])
    }

    @Test func whatWasNotThereBeforeOrWasStoppedHasLostNothing() throws {
        let input = try TimedInput { _ in 1 }
        try input.start(at: 0)
        #expect(input.fields.isEmpty)
        _ = input.interrupt(PublisherError(.unreadable, "not there"), at: 0)
        try input.connect(Self.format(rate: 100))
        #expect(Self.summary(input.take(Self.rows([0]), offset: 0, at: 0)) == [0])
        _ = input.stop(at: 0)
        #expect(input.take(Self.rows([10]), offset: 0, at: 0).isEmpty)
        try input.start(at: 0)
        #expect(Self.summary(input.take(Self.rows([9_000]), offset: 0, at: 0)) == [9_000])
    }

    @Test func whatWaitedInABufferIsLeftOut() throws {
        let input = try TimedInput { _ in 1 }
        var format = Self.format(rate: 100)
        format.earliest = 100 * Self.millisecond
        try input.connect(format)
        try input.start(at: 0)
        #expect(Self.summary(input.take(Self.rows([10, 20, 110]), offset: 0, at: 0)) == [110])
    }

    @Test func aDeviceThatComesBackWithOtherValuesIsRefused() throws {
        let input = try Self.input(rate: 100)
        var format = Self.format(rate: 100)
        format.fields = ["x", "y"]
        #expect(throws: PublisherError.self) { try input.connect(format) }
        format.fields = []
        #expect(throws: PublisherError.self) { try input.connect(format) }
        format = Self.format(rate: 100)
        format.unit = "m/s2"
        #expect(throws: PublisherError.self) { try input.connect(format) }
        #expect(input.unit == "g")
        #expect(input.fields == ["uptime", "x"])
    }

    @Test func textIsNotPacked() throws {
        let source = StreamConfiguration.Source.lsl(StreamConfiguration.LSL(query: "type='Markers'"))
        for isPacked in [false, true] {
            let publisher = try VirtualPublisher(
                [StreamConfiguration(device: "lab", stream: "markers", source: source, isPacked: isPacked)],
                sources: [nil])
            publisher.begin()
            let format = TimedInput.Format(fields: ["value"], types: [.text], unit: nil, rate: nil, description: "")
            let stream = publisher.core.streams[0]
            let refusal: PublisherError?
            do throws(PublisherError) {
                try publisher.core.connect(stream, format, at: publisher.now)
                refusal = nil
            } catch {
                refusal = error
            }
            #expect((refusal?.code == .invalidParameter) == isPacked)
        }
    }

    @Test func recordsAreTakenAsTheyAre() throws {
        let input = try TimedInput { _ in 2 }
        try input.connect(
            TimedInput.Format(fields: ["marker"], types: [.text], unit: nil, rate: nil, description: "markers"))
        try input.start(at: 0)
        var rows = PushedRows(fields: ["marker"], types: [.text])
        rows.append(record: Array("\"go\"".utf8), time: 1_000_000_000)
        rows.append(record: Array("\"stop\"".utf8), time: 2_000_000_000)
        let pieces = input.take(rows, offset: 0, at: 0)
        guard case .batch(let batch)? = pieces.first else {
            Issue.record("no batch")
            return
        }
        #expect(batch.rows == [1, 2])
        #expect(
            batch.records.map { [$0.bytes(ofRow: 0), $0.bytes(ofRow: 1)] } == [
                Array("\"go\"".utf8), Array("\"stop\"".utf8),
            ])
        #expect(input.types == [.number, .text])
    }
}
