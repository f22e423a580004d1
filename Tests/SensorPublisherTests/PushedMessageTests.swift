import Messages
import SampleSources
import Testing

/// Messages of phones and other clients, read from their bytes.
struct PushedMessageTests {
    /// The example in Sensor Logger's documentation.
    private static let documented = #"""
        {"messageId":7,"sessionId":"s1","deviceId":"d1","payload":[
         {"name":"accelerometer","time":1698501144401773000,"values":{"z":-0.10,"y":0.01,"x":0.06}},
         {"name":"battery","time":1698501144500000000,"values":{"batteryState":"full"}}]}
        """#

    @Test func sensorLoggersMessageIsReadByNamesWithExactTimes() throws {
        let message = try SensorLoggerMessage(Array(Self.documented.utf8))
        #expect(message.number == 7)
        #expect(message.session == "s1")
        #expect(message.device == "d1")
        #expect(message.readings.map(\.sensor) == ["accelerometer", "battery"])
        let rows = message.readings[0].rows
        #expect(rows.fields == ["x", "y", "z"])
        #expect(rows.types == nil)
        #expect(rows.times == [1_698_501_144_401_773_000])
        #expect(rows.values == [0.06, 0.01, -0.1])
        #expect(message.readings[1].rows.types == [.text])
        #expect(message.readings[1].rows.records.count == 1)
    }

    @Test func accelerationAndGravityOfTheSameTimeMakeTotalAcceleration() throws {
        let body = #"""
            {"messageId":0,"sessionId":"s","deviceId":"d","payload":[
            {"name":"gravity","time":1698501144401773001,"values":{"x":0,"y":0,"z":-9.5}},
            {"name":"accelerometer","time":1698501144401773001,"values":{"x":0.25,"y":1,"z":-0.5}},
            {"name":"accelerometer","time":1698501144411773001,"values":{"x":1,"y":2,"z":3}}]}
            """#
        var streams = SensorLoggerStreams(platform: .ios)
        let parts = streams.parts(of: try SensorLoggerMessage(Array(body.utf8)))
        #expect(parts.map(\.stream) == ["gravity", "userAcceleration", "accelerometer"])
        #expect(parts.map(\.unit) == ["m/s2", "m/s2", "m/s2"])
        #expect(parts[2].rows.values == [0.25, 1, -10])
        #expect(parts[2].description.contains("iOS: z of gravity is negative"))
        // The rest of the third sample comes with the next message.
        let next = #"""
            {"messageId":1,"sessionId":"s","deviceId":"d","payload":[
            {"name":"gravity","time":1698501144411773001,"values":{"x":0,"y":0,"z":-9.5}}]}
            """#
        let later = streams.parts(of: try SensorLoggerMessage(Array(next.utf8)))
        #expect(later.map(\.stream) == ["gravity", "accelerometer"])
        #expect(later[1].rows.times == [1_698_501_144_411_773_001])
        #expect(later[1].rows.values == [1, 2, -6.5])
    }

    @Test func ofASilentPhoneLittleWaits() throws {
        func message(_ sensor: String) -> SensorLoggerMessage {
            var rows = PushedRows(fields: ["x", "y", "z"])
            for time in 0..<150 { rows.append([Double(time), 0, 0], time: Int64(time)) }
            return SensorLoggerMessage(
                number: 0, session: "s", device: "d",
                readings: [SensorLoggerMessage.Readings(sensor: sensor, rows: rows)])
        }
        var streams = SensorLoggerStreams(platform: .ios)
        _ = streams.parts(of: message("accelerometer"))
        streams.shrink()
        let total = try #require(streams.parts(of: message("gravity")).last)
        #expect(total.stream == "accelerometer")
        #expect(total.rows.times == Array(50..<150))
    }

    @Test func anAndroidPhonesTotalIsTakenAsItIs() throws {
        let body = #"""
            {"messageId":0,"sessionId":"s","deviceId":"d","payload":[
            {"name":"gravity","time":1,"values":{"x":0,"y":0,"z":9}},
            {"name":"accelerometer","time":1,"values":{"x":0,"y":0,"z":1}},
            {"name":"totalacceleration","time":1,"values":{"x":0,"y":0,"z":10}}]}
            """#
        var streams = SensorLoggerStreams(platform: .android)
        let parts = streams.parts(of: try SensorLoggerMessage(Array(body.utf8)))
        #expect(parts.map(\.stream) == ["gravity", "userAcceleration", "accelerometer"])
    }

    @Test func aSensorWithOtherFieldsGoesOnWithThem() throws {
        let body = #"""
            {"messageId":0,"sessionId":"s","deviceId":"d","payload":[
            {"name":"location","time":1,"values":{"latitude":60.25,"bearing":10}},
            {"name":"location","time":2,"values":{"latitude":60.5,"bearing":null}},
            {"name":"location","time":3,"values":{"latitude":61}}]}
            """#
        let message = try SensorLoggerMessage(Array(body.utf8))
        #expect(
            message.readings.map(\.rows.fields) == [
                ["bearing", "latitude"], ["bearing", "latitude"], ["latitude"],
            ])
        #expect(message.readings.map(\.rows.types) == [nil, [.json, .number], nil])
    }

    @Test func nullIsOfTheTypeOfTheSamplesBefore() throws {
        func rows(_ values: [String]) throws -> PushedRows {
            let entries = values.map { #"{"name":"a","time":1,"values":\#($0)}"# }.joined(separator: ",")
            let body = #"{"messageId":0,"sessionId":"s","deviceId":"d","payload":[\#(entries)]}"#
            return try #require(try SensorLoggerMessage(Array(body.utf8)).readings.first).rows
        }
        let numbers: [FieldType] = [.number, .number]
        let later = try rows([#"{"a":null,"b":1}"#, #"{"a":2.50,"b":2}"#]).following(["a", "b"], nil)
        #expect(later.types == numbers)
        #expect(later.records.bytes(ofRow: 0) == Array("null,1".utf8))
        #expect(later.records.bytes(ofRow: 1) == Array("2.50,2".utf8))
        #expect(try rows([#"{"a":1,"b":null}"#]).following(["a", "b"], [.json, .number]).types == numbers)
        #expect(try rows([#"{"a":null,"b":1}"#]).following(["a", "b"], [.json, .number]).types == [.json, .number])
        let mixed = try rows([#"{"a":null,"b":1}"#, #"{"a":"c","b":1}"#])
        #expect(mixed.following(["a", "b"], numbers).types == [.json, .number])
        #expect(mixed.following(["a", "c"], numbers) == mixed)
        #expect(try rows([#"{"a":1,"b":2}"#]).following(["a", "b"], [.json, .number]).types == nil)
    }

    @Test func numberedSamplesAreReadWithTimesInSecondsOrNanoseconds() throws {
        let body =
            #"{"device":"m5","stream":"accelerometer","first":3,"unit":"g","samples":[[12.000000001,1,2,3],[1698501144401773001,4,5,6]]}"#
        let samples = try NumberedSamples(Array(body.utf8))
        #expect(samples.name == StreamName(device: "m5", stream: "accelerometer"))
        #expect(samples.first == 3)
        #expect(samples.end == 5)
        #expect(samples.unit == "g")
        #expect(samples.epoch == nil)
        #expect(samples.rows.fields == ["x", "y", "z"])
        #expect(samples.rows.times == [12_000_000_001, 1_698_501_144_401_773_001])
        #expect(samples.rows.values == [1, 2, 3, 4, 5, 6])
    }

    @Test(arguments: [
        ("", "the body is not JSON"),
        ("[]", "the body must be an object"),
        (#"{"device":"a","stream":"b","first":0}"#, "needs device, stream, first and samples"),
        (#"{"device":"../a","stream":"b","first":0,"samples":[[0,1]]}"#, "device: \"../a\" is not a name"),
        (#"{"device":"..","stream":"b","first":0,"samples":[[0,1]]}"#, "must not begin with"),
        (#"{"device":"a","stream":"b\u0000","first":0,"samples":[[0,1]]}"#, "is not a name"),
        (#"{"device":"a","stream":"b","first":-1,"samples":[[0,1]]}"#, "first must be a whole number of 0 or more"),
        (#"{"device":"a","stream":"b","first":1e3,"samples":[[0,1]]}"#, "first must be a whole number of 0 or more"),
        (#"{"device":"a","stream":"b","first":9007199254740992,"samples":[[0,1]]}"#, "first must be a whole number"),
        (#"{"device":"a","stream":"b","first":0,"samples":[]}"#, "samples is empty"),
        (#"{"device":"a","stream":"b","first":0,"samples":[[0,NaN]]}"#, "the body is not JSON"),
        (#"{"device":"a","stream":"b","first":0,"samples":[[0,1e999]]}"#, "each value of samples[0] must be a number"),
        (#"{"device":"a","stream":"b","first":0,"samples":[[0,null]]}"#, "each value of samples[0] must be a number"),
        (#"{"device":"a","stream":"b","first":0,"samples":[[0,1],[1,2,3]]}"#, "samples[1] has 2 values"),
        (#"{"device":"a","stream":"b","first":0,"samples":[[0]]}"#, "name them with \"fields\""),
        (#"{"device":"a","stream":"b","first":0,"fields":["u","u"],"samples":[[0,1,2]]}"#, "different names"),
        (#"{"device":"a","stream":"b","first":0,"fields":["uptime"],"samples":[[0,1]]}"#, "none of them uptime"),
        (#"{"device":"a","stream":"b","first":0,"samples":[["now",1]]}"#, "the time of samples[0] must be a time"),
        (#"{"device":"a","stream":"b","first":0,"unit":"","samples":[[0,1]]}"#, "unit: give 1 to 32 characters"),
    ])
    func whatMakesNoSenseIsRefusedWithThePlace(body: String, message: String) {
        let error = #expect(throws: PublisherError.self) { try NumberedSamples(Array(body.utf8)) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    /// In a session in JSON, each record has the names of all fields.
    @Test func aFieldWithALongNameIsRefused() throws {
        let long = String(repeating: "a", count: 257)
        func numbered(_ name: String) -> [UInt8] {
            Array(#"{"device":"a","stream":"b","first":0,"fields":["\#(name)"],"samples":[[0,1]]}"#.utf8)
        }
        #expect(try NumberedSamples(numbered(String(long.dropLast()))).rows.count == 1)
        var error = #expect(throws: PublisherError.self) { try NumberedSamples(numbered(long)) }
        #expect(error?.message.contains("names of at most 256 bytes") == true)
        let entry = #"{"name":"g","time":1,"values":{"\#(long)":1}}"#
        let body = #"{"messageId":0,"sessionId":"s","deviceId":"d","payload":[\#(entry)]}"#
        error = #expect(throws: PublisherError.self) { try SensorLoggerMessage(Array(body.utf8)) }
        #expect(error?.message.contains("payload[0] has a name of more than 256 bytes") == true)
    }

    @Test func deepJSONIsRefused() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        let body = #"{"messageId":0,"sessionId":"s","deviceId":"d","payload":\#(deep)}"#
        let error = #expect(throws: PublisherError.self) { try SensorLoggerMessage(Array(body.utf8)) }
        #expect(error?.message.contains("nested too deep") == true)
    }

    @Test(arguments: [
        (#"{"sessionId":"s","deviceId":"d","payload":[]}"#, "needs messageId, sessionId"),
        (#"{"messageId":0,"sessionId":"s","deviceId":"a/b","payload":[]}"#, "is not a name"),
        (
            #"{"messageId":0,"sessionId":"s","deviceId":"d","payload":[{"name":"x"}]}"#,
            "payload[0] needs name, time and values"
        ),
        (
            #"{"messageId":0,"sessionId":"s","deviceId":"d","payload":[{"name":"g","time":1,"values":{"x":1,"x":2}}]}"#,
            "payload[0] has \"x\" twice"
        ),
    ])
    func aMessageThatIsNoneIsRefused(body: String, message: String) {
        let error = #expect(throws: PublisherError.self) { try SensorLoggerMessage(Array(body.utf8)) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}
