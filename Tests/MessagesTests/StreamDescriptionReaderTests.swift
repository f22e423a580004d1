import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StreamDescriptionReaderTests {
    private static func description(_ number: Int) -> StreamDescription {
        StreamDescription(
            source: "sensor-publisher", sequence: number, device: "phone", stream: "accélération", epoch: "E",
            state: .running,
            fields: ["uptime", "x", "\"y"], unit: "g", rate: 100, packed: true, nextSequence: 10 * number,
            replay: "tcp://127.0.0.1:5551",
            clock: ClockReading(
                uptime: 1.25 * Double(number), date: WallTime(seconds: 1e9 + Double(number)),
                elapsed: 0.1 * Double(number)),
            description: "sine, \"nextSequence\":7", lastSample: 0.3 * Double(number), retention: 600.5 + Double(number)
        )
    }

    private static func read(
        _ description: StreamDescription, by reader: StreamDescriptionReader
    ) throws -> StreamDescription {
        try WireCoding.encode(description).withUnsafeBytes { try reader.read($0) }
    }

    @Test func eachOfManyIsWhatTheDecoderGives() throws {
        let reader = StreamDescriptionReader()
        for number in 0..<50 {
            #expect(try Self.read(Self.description(number), by: reader) == Self.description(number))
        }
    }

    @Test(arguments: 0..<13) func aChangeOfAnythingElseIsSeen(_ change: Int) throws {
        let reader = StreamDescriptionReader()
        _ = try Self.read(Self.description(1), by: reader)
        var changed = Self.description(2)
        switch change {
        case 0: changed.source = "another"
        case 1: changed.epoch = "F"
        case 2: changed.state = .failed
        case 3: changed.fields.append("z")
        case 4: changed.unit = nil
        case 5: changed.rate = nil
        case 6: changed.packed = false
        case 7: changed.replay = "tcp://127.0.0.1:5552"
        case 8: changed.description = nil
        case 9: changed.reason = "unplugged"
        case 10: (changed.lastSample, changed.retention) = (nil, nil)
        case 11: (changed.over, changed.first) = (true, 2)
        default: changed.clock.elapsed = nil
        }
        for _ in 0..<2 { #expect(try Self.read(changed, by: reader) == changed) }
        #expect(try Self.read(Self.description(3), by: reader) == Self.description(3))
    }

    @Test(arguments: [
        ("\"nextSequence\":20", "\"nextSequence\":2.5"),
        ("\"sequence\":2", "\"sequence\":\"2\""), ("\"retention\":602.5", "\"retention\":[]"),
        ("\"uptime\":2.5}", "\"uptime\":2.5"), ("\"uptime\":2.5", "\"uptime\":\"2.5\""), ("stream.v1", "stream.v2"),
    ])
    func whatIsWrongIsReadAsByTheDecoder(_ right: String, _ wrong: String) throws {
        let reader = StreamDescriptionReader()
        _ = try Self.read(Self.description(1), by: reader)
        let text = String(decoding: try WireCoding.encode(Self.description(2)), as: UTF8.self)
        #expect(text.contains(right))
        let spoiled = Array(text.replacing(right, with: wrong).utf8)
        let decoded = try? WireCoding.decode(StreamDescription.self, from: spoiled)
        let read = try? spoiled.withUnsafeBytes { try reader.read($0) }
        #expect(read == (decoded?.schema == StreamDescription.schema ? decoded : nil))
        #expect(try Self.read(Self.description(3), by: reader) == Self.description(3))
    }

    @Test(arguments: [
        ("\"nextSequence\":20", "\"nextSequence\":-20"),
        ("\"nextSequence\":20", "\"nextSequence\":20,\"first\":-1"),
        ("\"nextSequence\":20", "\"nextSequence\":20,\"first\":21"),
        ("\"epoch\":\"E\"", "\"epoch\":\"\""), ("\"uptime\":2.5", "\"uptime\":-1e300"),
        ("\"elapsed\":0.2", "\"elapsed\":4000000000"),
        ("\"rate\":100", "\"rate\":\"NaN\""), ("\"retention\":602.5", "\"retention\":\"Infinity\""),
    ])
    func whatCannotBeIsRefused(_ right: String, _ wrong: String) throws {
        let text = String(decoding: try WireCoding.encode(Self.description(2)), as: UTF8.self)
        #expect(text.contains(right))
        let spoiled = Array(text.replacing(right, with: wrong).utf8)
        let reader = StreamDescriptionReader()
        for _ in 0..<2 {
            #expect(throws: MessageError.self) { try spoiled.withUnsafeBytes { try reader.read($0) } }
            #expect(try Self.read(Self.description(3), by: reader) == Self.description(3))
        }
    }
}
