import SensorPublisher
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LiveInputTests {
    private func take(_ text: String, by input: LiveInput, at now: Int64) -> [[Double]] {
        input.take(Array(text.utf8).span, at: now).map(\.rows)
    }

    @Test func linesBecomeBatchesWhereverTheBytesAreCut() throws {
        let input = try LiveInput(format: .csv, batch: 2)
        #expect(input.fields.isEmpty)
        try input.start(at: 0)
        #expect(take("t,x\n5,", by: input, at: 1_000_000_000).isEmpty)
        #expect(input.fields.isEmpty)
        #expect(take("1\n5.5,2\n6,3\n", by: input, at: 2_000_000_000) == [[2, 1, 2.5, 2]])
        #expect(input.fields == ["uptime", "x"])
        #expect(take("6.5,4", by: input, at: 3_000_000_000).isEmpty)
        #expect(input.end(at: 3_000_000_000).map(\.rows) == [[3, 3, 3.5, 4]])
        #expect(input.state == .ended)
        #expect(throws: PublisherError.self) { try input.start(at: 4_000_000_000) }
    }

    @Test func aLineThatCannotBeReadIsCountedAndLeftOut() throws {
        let input = try LiveInput(format: .ndjson, batch: 1)
        try input.start(at: 0)
        let rows = take("{\"x\": 1}\n{\"x\": \n{\"y\": 2}\n\n{\"x\": 3}\n", by: input, at: 0)
        #expect(rows == [[0, 1], [0, 3]])
        #expect(input.malformedLines == 2)
        #expect(input.lastProblem?.message == "standard input, line 3: no number for \"x\"")
    }

    @Test func whatComesWhileItIsStoppedIsLeftOut() throws {
        let input = try LiveInput(format: .csv, batch: 1)
        #expect(take("x\n1\n", by: input, at: 0).isEmpty)
        #expect(input.fields == ["uptime", "x"], "the fields are known all the same")
        try input.start(at: 0)
        #expect(take("2\n", by: input, at: 0) == [[0, 2]])
    }

    @Test func motionHasItsFieldsWhateverTheInputHas() throws {
        let input = try LiveInput(format: .csv, batch: 1, isMotion: true)
        try input.start(at: 0)
        #expect(take("rotationRate.y,x\n7,1\n", by: input, at: 0) == [[0, 1, 0, 0, 0, 0, 0, 0, 7, 0]])
        #expect(input.fields == ["uptime"] + DeviceMotion.fields)
    }
}
