import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SampleBatchEncoderTests {
    static func encode(_ batch: SampleBatch, rows: [[Double]]) -> String {
        let encoder = SampleBatchEncoder(
            source: batch.source, device: batch.device, stream: batch.stream, epoch: batch.epoch, fields: batch.fields,
            isPacked: batch.values == nil)
        var buffer = ByteBuffer(capacity: 0)
        Array(rows.joined()).withUnsafeBufferPointer { values in
            encoder.encode(
                sequence: batch.sequence, count: batch.count, clock: batch.clock, rows: values, into: &buffer)
        }
        return buffer.text
    }

    @Test func theBytesAreThoseOfJSONEncoder() throws {
        var generator = SeededGenerator()
        let characters = Array("abcXYZ019-_./\\\"'\u{0}\u{8}\n\r\t\u{C}\u{1F}\u{7F}é€😀\u{2028}<>&")
        func name() -> String {
            String(
                (0..<Int.random(in: 0...12, using: &generator)).compactMap { _ in
                    characters.randomElement(using: &generator)
                })
        }
        func number() -> Double {
            switch Int.random(in: 0...9, using: &generator) {
            case 0: [Double.nan, .infinity, -.infinity, 0, -0.0].randomElement(using: &generator) ?? 0
            case 1: generator.finiteNumber()
            case 2: Double(Int.random(in: -100...100, using: &generator))
            case 3...5: Double(Int.random(in: -1000...1000, using: &generator)) / 1000
            default: .random(in: -2...2, using: &generator)
            }
        }
        for round in 0..<300 {
            let columns = Int.random(in: 1...9, using: &generator)
            let count = Int.random(in: 0...12, using: &generator)
            let rows = (0..<count).map { _ in (0..<columns).map { _ in number() } }
            let batch = SampleBatch(
                source: name(), sequence: Int.random(in: 0 ... .max, using: &generator) >> (round % 63), device: name(),
                stream: name(), epoch: name(), count: count, fields: (0..<columns).map { _ in name() },
                clock: ClockReading(
                    uptime: .random(in: 0...1e6, using: &generator),
                    date: WallTime(nanosecondsSince1970: .random(in: .min ... .max, using: &generator)),
                    elapsed: Bool.random(using: &generator) ? Double.random(in: 0...1e6, using: &generator) : nil),
                values: Bool.random(using: &generator) ? rows : nil)
            #expect(try Self.encode(batch, rows: rows) == SampleBatchTests.encode(batch))
        }
    }

    @Test func batchesFollowOneAnotherInABuffer() {
        let encoder = SampleBatchEncoder(
            source: "s", device: "d", stream: "t", epoch: "e", fields: ["uptime"], isPacked: true)
        var buffer = ByteBuffer(capacity: 0)
        let clock = ClockReading(uptime: 1, date: WallTime(seconds: 0))
        for sequence in [7, 8] {
            [1.0].withUnsafeBufferPointer {
                encoder.encode(sequence: sequence, count: 1, clock: clock, rows: $0, into: &buffer)
            }
        }
        let body =
            #"{"clock":{"date":"1970-01-01T00:00:00.000000Z","uptime":1},"count":1,"device":"d","epoch":"e","#
            + #""fields":["uptime"],"schema":"samples.v1","sequence":7,"source":"s","stream":"t"}"#
        #expect(buffer.text == body + body.replacing(":7", with: ":8"))
    }

    @Test func packedSamplesAreLittleEndian() {
        let encoder = SampleBatchEncoder(
            source: "s", device: "d", stream: "t", epoch: "e", fields: ["uptime"], isPacked: true)
        var buffer = ByteBuffer(capacity: 0)
        [1.0, -2.5].withUnsafeBufferPointer { encoder.encodePacked($0, into: &buffer) }
        let bytes: [UInt8] = [0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0, 0, 0, 0, 0, 0, 0x04, 0xC0]
        #expect(buffer.withUnsafeBytes { Array($0) } == bytes)
    }
}
