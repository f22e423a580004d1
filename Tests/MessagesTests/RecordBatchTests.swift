import Messages
import Testing

/// Batches of streams of records, whose values are not all numbers.
@Suite(.timeLimit(.minutes(5)))
struct RecordBatchTests {
    private static let types: [FieldType] = [.number, .text, .boolean, .date, .json]
    private static let clock = ClockReading(
        uptime: 12.5, date: WallTime(nanosecondsSince1970: 1_795_238_701_123_456_000))

    /// Writes a body as a publisher does.
    private func body(_ records: [String], fields: [String] = ["uptime", "a", "b", "c", "d"]) -> [UInt8] {
        var values = RecordValues()
        for record in records { values.append(record.utf8) }
        let encoder = SampleBatchEncoder(
            source: "sensor-publisher", device: "phone", stream: "events", epoch: "E", fields: fields,
            types: Array(Self.types.prefix(fields.count)), isPacked: false)
        var buffer = ByteBuffer(capacity: 0)
        let uptimes = records.indices.map { Double($0) + 0.5 }
        uptimes.withUnsafeBufferPointer {
            encoder.encode(sequence: 7, clock: Self.clock, uptimes: $0, values: values.all, into: &buffer)
        }
        return buffer.withUnsafeBytes { Array($0) }
    }

    /// The texts of a body's values.
    private func rows(_ frame: [UInt8], _ types: [FieldType]? = types) throws -> [[String]] {
        try frame.withUnsafeBytes { frame in
            let body = try SampleBody(frame)
            var rows = SampleRows(frame, values: try #require(body.values), columns: 5, types: types)
            var found: [[String]] = []
            while try rows.next() {
                var row: [String] = []
                for column in 0..<5 { row.append(String(decoding: frame[rows.token(column)], as: UTF8.self)) }
                found.append(row)
            }
            return found
        }
    }

    @Test(arguments: [
        #""walk",true,"2026-11-21T00:00:00Z",{"a":[1,2,{"b":null}]}"#, #"null,null,null,null"#,
        #""]]}],\"[{",false,"","nested ]]""#,
        #""\u0000\ud83d\ude00 \\",false,"","1152921504606846977""#, #""ä😀",true,"",1152921504606846977.10"#,
    ])
    func whatWasWrittenIsReadToTheByte(record: String) throws {
        let frame = body([record, record])
        let found = try rows(frame)
        #expect(found.map { $0.dropFirst().joined(separator: ",") } == [record, record])
        #expect(found.map { $0[0] } == ["0.5", "1.5"])
        // The same, read after another body, and with its keys in another order.
        var reader = SampleBodyReader()
        try frame.withUnsafeBytes { frame in
            let first = try reader.read(frame)
            let second = try reader.read(frame)
            #expect(first.values == second.values)
            #expect(first.types == second.types)
        }
        let text = String(decoding: frame, as: UTF8.self)
        let types = #""types":["number","text","boolean","date","json"],"#
        try #require(text.contains(types))
        let swapped = "\(text.replacing(types, with: "").dropLast()),\(types.dropLast())}"
        #expect(try rows(Array(swapped.utf8)).map { $0.dropFirst().joined(separator: ",") } == [record, record])
    }

    @Test(arguments: [
        (#"5,true,"",0"#, "value 1 of row 0 of \"values\" is not text, as \"types\" says"),
        (#""x","true","",0"#, "value 2 of row 0 of \"values\" is not boolean"),
        (#""x",true,{},0"#, "value 3 of row 0 of \"values\" is not date"),
        (#""x",true,"""#, "row 0 of \"values\" must have 5 values"),
        (#""x",true,"",0,0"#, "row 0 of \"values\" must have 5 values"),
        (#""x",true,"",0x"#, "malformed JSON"), (#""x",true,"","\ud800""#, "half of a surrogate pair"),
        (#""x",true,"","# + String(repeating: "[", count: 17) + String(repeating: "]", count: 17), "nested too deep"),
        ("\"" + String(repeating: "x", count: 1 << 20) + #"",true,"",0"#, "has more than 1048576 bytes"),
    ])
    func aRecordThatIsNotWhatItsTypesSayIsRefused(record: String, problem: String) throws {
        let error = #expect(throws: MessageError.self) { try rows(body([record])) }
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test func aLongTextAndADeepValueAreTaken() throws {
        let text = "\"" + String(repeating: "ä", count: 50_000) + "\""
        let deep = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        let found = try rows(body(["\(text),true,\"\",\(deep)"]))
        #expect(found[0][1] == text)
        #expect(found[0][4] == deep)
    }

    @Test func aTypeOfALaterVersionIsAnyValue() throws {
        let frame = body([#""walk",true,"",{"a":1}"#])
        let types = [.number] + ["colour", "shape", "sound", "json"].map(FieldType.init(rawValue:))
        #expect(try rows(frame, types)[0][1] == "\"walk\"")
    }

    /// Numbers that JSON lacks are written as words; any other string is not a number.
    @Test(arguments: [("\"NaN\"", true), ("\"-Infinity\"", true), ("1e400", true), ("\"one\"", false), ("true", false)])
    func aNumberMayBeAWord(value: String, isNumber: Bool) {
        #expect(Array(value.utf8).withUnsafeBytes { FieldType.number.accepts($0) } == isNumber)
    }

    @Test func aDescriptionNamesTheTypes() throws {
        var description = StreamDescription(
            source: "sensor-publisher", sequence: 0, device: "phone", stream: "events", epoch: "E", state: .running,
            fields: ["uptime", "a"], types: [.number, .text], packed: false, nextSequence: 0, replay: "tcp://h:1",
            clock: Self.clock)
        description.unit = "g"
        var buffer = ByteBuffer(capacity: 0)
        description.encode(into: &buffer)
        let bytes = buffer.withUnsafeBytes { Array($0) }
        #expect(try WireCoding.encode(description) == bytes)
        #expect(try WireCoding.decode(StreamDescription.self, from: bytes) == description)
    }

    @Test func recordsKeepTheirPlaces() {
        var values = RecordValues()
        for record in ["1", "", "22,33"] { values.append(record.utf8) }
        #expect(values.byteCount(of: 0..<3) == 6)
        #expect(values.byteCount(of: 2..<3) == 5)
        #expect(values.byteCount(of: 1..<1) == 0)
        let copy = RecordValues(values[1..<3])
        #expect(copy.count == 2)
        #expect(copy.byteCount == 5)
        #expect(values[1..<3].byteCount == 5)
        #expect(!copy.isFull)
    }
}
