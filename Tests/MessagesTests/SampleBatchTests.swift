import FoundationEssentials
import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SampleBatchTests {
    static let golden =
        #"{"clock":{"date":"2026-11-21T05:25:01.123456Z","uptime":12.5},"count":2,"device":"left-wrist","#
        + #""epoch":"5F0E4F0A-0C5B-4C6B-9E57-0F3F8F6E6B11","fields":["uptime","x"],"schema":"samples.v1","sequence":40,"#
        + #""source":"sensor-publisher","stream":"accelerometer","values":[[12.49,"NaN"],[12.5,-1e-05]]}"#

    static func batch(values: [[Double]]?) -> SampleBatch {
        SampleBatch(
            source: "sensor-publisher", sequence: 40, device: "left-wrist", stream: "accelerometer",
            epoch: "5F0E4F0A-0C5B-4C6B-9E57-0F3F8F6E6B11", count: 2, fields: ["uptime", "x"],
            clock: ClockReading(uptime: 12.5, date: WallTime(nanosecondsSince1970: 1_795_238_701_123_456_000)),
            values: values)
    }

    static func encode(_ batch: SampleBatch) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(batch), as: UTF8.self)
    }

    static func decode(_ text: String) throws -> SampleBatch {
        try JSONDecoder().decode(SampleBatch.self, from: Data(text.utf8))
    }

    @Test func aBatchHasTheseBytes() throws {
        #expect(try Self.encode(Self.batch(values: [[12.49, .nan], [12.5, -1e-5]])) == Self.golden)
    }

    @Test func theseBytesAreABatch() throws {
        let batch = try Self.decode(Self.golden)
        #expect(batch.values?[0][1].isNaN == true)
        #expect(batch.values?[1] == [12.5, -1e-5])
        var rest = batch
        rest.values = nil
        #expect(rest == Self.batch(values: nil))
        #expect(batch.topic == "samples/left-wrist/accelerometer")
    }

    @Test func aPackedBatchHasNoValues() throws {
        let text = try Self.encode(Self.batch(values: nil))
        #expect(!text.contains("values"))
        #expect(try Self.decode(text) == Self.batch(values: nil))
    }

    @Test func numbersThatJSONLacksTravelAsText() throws {
        let batch = Self.batch(values: [[1, .infinity], [2, -.infinity]])
        #expect(try Self.decode(Self.encode(batch)) == batch)
        let withNull = Self.golden.replacing("-1e-05", with: "null")
        #expect(try Self.decode(withNull).values?[1][1].isNaN == true)
    }

    @Test func unknownFieldsAreIgnored() throws {
        let text = Self.golden.replacing("{\"clock\"", with: #"{"unit":["s","g"],"clock""#)
        #expect(try Self.decode(text).count == 2)
    }

    @Test(arguments: [
        ("samples.v1", "samples.v2"), ("\"NaN\"", "\"nan\""), ("12.49", "true"), ("\"count\":2", "\"count\":\"2\""),
        ("2026-11", "2026-13"), ("\"sequence\"", "\"Sequence\""),
    ])
    func aWrongBatchIsRefused(_ right: String, _ wrong: String) {
        #expect(throws: DecodingError.self) { try Self.decode(Self.golden.replacing(right, with: wrong)) }
    }
}
