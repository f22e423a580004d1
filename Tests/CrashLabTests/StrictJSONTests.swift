import Testing

@testable import CrashLab

/// The laboratory's own parsers.
@Suite(.timeLimit(.minutes(5)))
struct StrictJSONTests {
    @Test func aLogIsRead() throws {
        let text = """
            [
            {"uptime":1.5,"timestamp":0,"stepPath":"a\\u00e9\\n","sensorType":"gyro","x":-1e-3,"y":"NaN"},
            {"uptime":2,"timestamp":1,"stepPath":"","marker":"gap","epoch":"E","from":3,"count":4,"reason":"malformed"}
            ]
            """
        let records = try LogText.records(Array(text.utf8), format: "json")
        #expect(records.count == 2)
        #expect(records[0].stepPath == "aé\n")
        #expect(records[0].values.count == 2 && records[0].values[0] == -0.001 && records[0].values[1].isNaN)
        #expect(records[1].marker == "gap" && records[1].from == 3 && records[1].count == 4)
    }

    @Test(arguments: [
        "", "[", "[1,]", "[1 2]", "{\"a\":1,\"a\":2}", "{\"a\":1}}", "01", "1.", ".5", "+1", "\"\u{1}\"", "\"\\x\"",
        "\"\\ud800\"", "[\"a]", "nul", "1e", "[1]\0", "{a:1}", "\u{FEFF}[]",
    ])
    func whatIsNotJSONIsRefused(text: String) {
        #expect(throws: StrictJSON.Fault.self) { try StrictJSON(text.utf8) }
    }

    @Test(arguments: [
        "uptime,timestamp,stepPath,sensorType,x,marker\n1,2,s,gyro,3",
        "uptime,timestamp,stepPath,sensorType,x,marker\n1,2,s,,3,",
        "uptime,timestamp,stepPath,sensorType,x,marker\n1,2,\"s,gyro,3,",
        "uptime,timestamp,stepPath,sensorType,x,marker\n1,2,s,gyro,3,\n\0\0\0", "",
    ])
    func aTornTableIsRefused(text: String) {
        #expect(throws: LogText.Fault.self) { try LogText.records(Array(text.utf8), format: "csv") }
    }

    @Test func aTableIsRead() throws {
        let text = "uptime,timestamp,stepPath,sensorType,x,marker\n1,2,\"a \"\"b\"\", c\",gyro,3,\n4,5,,,,stop"
        let records = try LogText.records(Array(text.utf8), format: "csv")
        #expect(records.map(\.stepPath) == ["a \"b\", c", ""])
        #expect(records.map(\.isSample) == [true, false])
        #expect(records[0].values == [3])
    }
}
