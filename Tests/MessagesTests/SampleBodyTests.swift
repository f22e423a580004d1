import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SampleBodyTests {
    /// The decoded contents of a body.
    struct Contents: Equatable {
        var source = "sensor-publisher"
        var device = "left-wrist"
        var stream = "accelerometer"
        var epoch = "5F0E4F0A-0C5B-4C6B-9E57-0F3F8F6E6B11"
        var fields = ["uptime", "x"]
        var clock = ClockReading(uptime: 12.5, date: WallTime(nanosecondsSince1970: 1_795_238_701_123_456_000))
        var values: String? = #"[[12.49,"NaN"],[12.5,-1e-05]]"#
        var sequence = 40
        var count = 2
    }

    static func read(_ bytes: [UInt8]) throws -> Contents {
        try bytes.withUnsafeBytes { frame in
            let body = try SampleBody(frame)
            return Contents(
                source: SampleBody.string(at: body.source, in: frame),
                device: SampleBody.string(at: body.device, in: frame),
                stream: SampleBody.string(at: body.stream, in: frame),
                epoch: SampleBody.string(at: body.epoch, in: frame),
                fields: try SampleBody.fieldNames(at: body.fields, in: frame),
                clock: try SampleBody.clock(at: body.clock, in: frame),
                values: body.values.map { String(decoding: frame[$0], as: UTF8.self) },
                sequence: body.sequence, count: body.count)
        }
    }

    static func read(_ text: String) throws -> Contents {
        try read(Array(text.utf8))
    }

    @Test func aBodyIsRead() throws {
        #expect(try Self.read(SampleBatchTests.golden) == Contents())
    }

    @Test func aPackedBodyIsRead() throws {
        var packed = Contents()
        packed.values = nil
        #expect(try Self.read(SampleBatchTests.encode(SampleBatchTests.batch(values: nil))) == packed)
    }

    @Test func orderBlanksAndUnknownKeysDoNotMatter() throws {
        let text = #"""
              { "values" : [ [12.49,"NaN"] , [ 12.5 , -1e-05 ]] ,
              "stream":"acceler\u006fmeter", "unit": {"x": ["g", null, true, [[]]]},"source" :"sensor-publisher",
              "sequence": 40, "schema":"samples\u002ev1","f\u0069elds":["uptime" , "\u0078"],"Count":1,"": 0,
              "epoch":"5F0E4F0A-0C5B-4C6B-9E57-0F3F8F6E6B11","device":"left-wrist"
              ,"count":2,"count\u0000":9,"clock":{"uptime":1.25e1,"zone":"x","date":"2026-11-21T06:25:01.123456+01:00"} }

            """#
        var expected = Contents()
        expected.values = "[ [12.49,\"NaN\"] , [ 12.5 , -1e-05 ]]"
        #expect(try Self.read(text) == expected)
    }

    @Test func oddNamesComeBack() throws {
        var batch = SampleBatchTests.batch(values: nil)
        batch.device = "a\"b\\c/d\u{1}\né😀"
        batch.fields = ["uptime", "\"", "]"]
        let contents = try Self.read(SampleBatchTests.encode(batch))
        #expect(contents.device == batch.device)
        #expect(contents.fields == batch.fields)
    }

    @Test(arguments: [
        "clock", "count", "device", "epoch", "fields", "schema", "sequence", "source", "stream",
    ])
    func aMissingFieldIsNamed(_ key: String) {
        let text = SampleBatchTests.golden.replacing("\"\(key)\":", with: "\"other\":")
        let error = #expect(throws: MessageError.self) { try Self.read(text) }
        #expect(error?.code == .missingField)
        #expect(error?.description == "\"\(key)\" is missing")
    }

    @Test(arguments: [
        ("count", "2", "\"2\""), ("count", "2", "2.0"), ("count", "2", "2e0"), ("count", "2", "null"),
        ("count", "2", "true"), ("count", "2", ""), ("sequence", "40", "[]"), ("sequence", "40", "4.5"),
        ("device", "\"left-wrist\"", "1"), ("source", "\"sensor-publisher\"", "null"),
        ("stream", "\"accelerometer\"", "{}"), ("epoch", "\"5F0E4F0A-0C5B-4C6B-9E57-0F3F8F6E6B11\"", "false"),
        ("schema", "\"samples.v1\"", "1"), ("fields", #"["uptime","x"]"#, "\"uptime\""),
        ("fields", #"["uptime","x"]"#, "[1]"), ("fields", #"["uptime","x"]"#, "[]"),
        ("fields", #"["uptime","x"]"#, #"["uptime",]"#),
        ("clock", #"{"date":"2026-11-21T05:25:01.123456Z","uptime":12.5}"#, "12.5"),
        ("values", #"[[12.49,"NaN"],[12.5,-1e-05]]"#, "null"),
        ("clock.uptime", "12.5}", "\"x\"}"), ("clock.uptime", "12.5}", "\"NaN\"}"),
        ("clock.date", "\"2026-11-21T05:25:01.123456Z\"", "0"),
    ])
    func aWrongTypeIsNamed(_ key: String, _ right: String, _ wrong: String) {
        let name = key.split(separator: ".").last ?? ""
        let text = SampleBatchTests.golden.replacing("\"\(name)\":\(right)", with: "\"\(name)\":\(wrong)")
        let error = #expect(throws: MessageError.self) { try Self.read(text) }
        #expect(error?.code == .wrongType)
        #expect(error?.description.hasPrefix("\"\(key)\" must be ") == true)
    }

    @Test func anotherSchemaIsNamed() {
        let text = SampleBatchTests.golden.replacing("samples.v1", with: "samples.v2")
        let error = #expect(throws: MessageError.self) { try Self.read(text) }
        #expect(error?.code == .wrongSchema)
        #expect(error?.description == "the schema is \"samples.v2\", not \"samples.v1\"")
    }

    @Test(arguments: ["-1", "-0", "9223372036854775808", "99999999999999999999999"])
    func numbersOutOfRangeAreNamed(_ number: String) {
        for (key, right) in [("sequence", "40"), ("count", "2")] {
            let text = SampleBatchTests.golden.replacing("\"\(key)\":\(right)", with: "\"\(key)\":\(number)")
            let error = #expect(throws: MessageError.self) { try Self.read(text) }
            #expect(error?.code == .outOfRange)
            #expect(error?.description.contains("\"\(key)\"") == true)
        }
    }

    @Test func theLargestNumberIsRead() throws {
        let text = SampleBatchTests.golden.replacing("\"sequence\":40", with: "\"sequence\":9223372036854775807")
        #expect(try Self.read(text).sequence == .max)
    }

    @Test(arguments: [
        (#""date":"2026"#, #""date":"nope"#, MessageError.Code.malformed),
        (#""date":"2026"#, #""date":"9026"#, .outOfRange),
        (#""uptime":12.5"#, #""uptime":-4e9"#, .outOfRange), (#""uptime":12.5"#, #""uptime":1e300"#, .outOfRange),
        (#""date""#, #""Date""#, .missingField), (#""uptime":12.5"#, #""Uptime":12.5"#, .missingField),
    ])
    func aWrongClockIsRefused(_ right: String, _ wrong: String, _ code: MessageError.Code) {
        let text = SampleBatchTests.golden.replacing(right, with: wrong)
        let error = #expect(throws: MessageError.self) { try Self.read(text) }
        #expect(error?.code == code)
    }

    @Test(arguments: [
        ("\"count\":2", "\"count\":2,\"count\":2"), ("\"count\":2", "\"count\":02"),
        ("\"count\":2", "\"count\":2,"), ("\"count\":2", "\"count\" 2"), ("]]}", "]]}}"), ("]]}", "]]} x"),
        ("]]}", "]]"), ("]]}", "]}"), ("{\"clock\"", "[\"clock\""), ("left", "le\nft"), ("left", "le\\xft"),
        ("{\"date\"", "{\"zone\":nul,\"date\""), ("\"count\":2", "\"other\":[1,],\"count\":2"),
    ])
    func malformedBodiesAreRefused(_ right: String, _ wrong: String) {
        let error = #expect(throws: MessageError.self) {
            try Self.read(SampleBatchTests.golden.replacing(right, with: wrong))
        }
        #expect(error?.code == .malformed)
    }

    @Test func anEmptyEpochIsRefused() throws {
        let epoch = try WireCoding.decode(SampleBatch.self, from: Array(SampleBatchTests.golden.utf8)).epoch
        let error = #expect(throws: MessageError.self) {
            try Self.read(SampleBatchTests.golden.replacing("\"\(epoch)\"", with: "\"\""))
        }
        #expect(error?.code == .outOfRange)
    }

    @Test func aBodyCutAnywhereIsRefused() throws {
        for values in [[[12.49, .nan], [12.5, -1e-5]], nil] {
            let bytes = Array(try SampleBatchTests.encode(SampleBatchTests.batch(values: values)).utf8)
            for length in bytes.indices {
                let part = Array(bytes.prefix(length))
                #expect(throws: MessageError.self, "cut to \(length) bytes") { try Self.read(part) }
            }
        }
    }

    /// Reads a body and all of its rows, as a receiver does.
    static func readAll(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { frame in
            let body = try SampleBody(frame)
            let columns = try SampleBody.fieldNames(at: body.fields, in: frame).count
            _ = try SampleBody.clock(at: body.clock, in: frame)
            guard let values = body.values else { return }
            var rows = SampleRows(frame, values: values, columns: columns)
            while try rows.next() {
                for column in 0..<columns { _ = rows.number(column) }
            }
            #expect(JSONScanner.isValid(frame))
        }
    }

    @Test func mutatedBodiesAreReadOrRefused() throws {
        var generator = SeededGenerator()
        let original = Array(SampleBatchTests.golden.utf8)
        try Self.readAll(original)
        var readCount = 0
        for _ in 0..<20_000 {
            var bytes = original
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: bytes.indices, using: &generator)
                let other = original.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0...4, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(other, at: place)
                case 2: bytes[place] = other
                case 3: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                default: bytes.removeSubrange(place..<min(bytes.count, place + Int(other)))
                }
                if bytes.isEmpty { break }
            }
            do {
                try Self.readAll(bytes)
                readCount += 1
            } catch is MessageError {}
        }
        #expect(readCount > 0)
    }

    @Test func noiseIsRefused() {
        var generator = SeededGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...100, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(throws: MessageError.self) { try Self.readAll(bytes) }
            #expect(throws: MessageError.self) { try Self.readAll(Array("{\"values\":[[".utf8) + bytes) }
        }
    }
}
