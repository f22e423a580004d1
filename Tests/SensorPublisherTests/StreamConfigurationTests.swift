import Glibc
import Messages
import PublisherCore
import PublisherEngine
import SampleSources
import ServiceKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamConfigurationTests {
    private func settings(
        _ json: String = "{}", flags: [String: String] = [:], environment: [String: String] = [:]
    ) throws -> PublisherSettings {
        try withFile("holdfast.json", json) { path in
            var values = FlagValues()
            values.set("config", path)
            for (key, value) in flags { values.set(key, value) }
            let reader = try ConfigurationReader(for: .sensorPublisher, flags: values, environment: environment)
            let settings = try PublisherSettings(reading: reader)
            try reader.finish()
            return settings
        }
    }

    @Test func aFileDescribesSeveralDevicesAndStreams() throws {
        let streams = try settings(
            """
            {"streams": [
              {"device": "phone_2.b", "stream": "accelerometer", "replay": "walk.csv.gz", "speed": 50, "loop": true},
              {"device": "left-wrist", "stream": "deviceMotion", "signal": "walk:placement=wrist"},
              {"device": "left-wrist", "signal": "walk:placement=wrist", "rate": 50, "batch": 5, "unit": "m/s2",
               "packed": true},
              {"device": "box", "stream": "gyro", "stdin": "ndjson"}
            ]}
            """
        ).streams
        #expect(
            streams.map(\.name.description) == [
                "box/gyro", "left-wrist/accelerometer", "left-wrist/deviceMotion", "phone_2.b/accelerometer",
            ])
        #expect(streams[0].source == .stdin(.ndjson))
        #expect(streams[1].source == .signal("walk:placement=wrist"))
        #expect(streams[1].isPacked)
        #expect(streams[3].source == .replay("walk.csv.gz"))
        #expect(streams[3].speed == 50)
        #expect(streams[3].isLooping)

        let sampler = try #require(try streams[1].makeSampler() as? StreamSampler)
        #expect(sampler.batch == 5)
        #expect(sampler.rate == 50)
        #expect(sampler.unit == "m/s2")
        #expect(sampler.fields == ["uptime", "x", "y", "z"])
        let motion = try #require(try streams[2].makeSampler() as? StreamSampler)
        #expect(motion.fields == ["uptime"] + DeviceMotion.fields)
        #expect(motion.unit == "g")
        #expect(motion.batch == 1)
        #expect(motion.rate == 100)
        #expect(try streams[0].makeSampler() is LiveInput)
    }

    @Test func theOriginOfTheDataIsThatOfTheSourceUnlessSomebodyStatesIt() throws {
        let streams = try settings(
            """
            {"streams": [
              {"device": "a", "signal": "sine"}, {"device": "b", "points": "points.json"},
              {"device": "c", "replay": "walk.csv"}, {"device": "d", "stdin": "csv"},
              {"device": "e", "replay": "walk.csv", "origin": "measured"}
            ]}
            """
        ).streams
        #expect(streams.map(\.origin) == [.simulated, .replayed, .replayed, .measured, .measured])
        #expect(try settings(flags: ["stdin": "csv", "origin": "simulated"]).streams.map(\.origin) == [.simulated])
        let error = #expect(throws: ServiceError.self) { try settings(flags: ["signal": "sine", "origin": "made"]) }
        #expect(error?.message.contains("'made' is not an origin: write measured, replayed or simulated") == true)
    }

    @Test func oneStreamIsSaidByFlagsOverEnvironmentOverFile() throws {
        let settings = try settings(
            #"{"signal": "sine", "rate": 10, "batch": 3, "retention": "1m"}"#,
            flags: ["rate": "30", "retention-bytes": "1MB"],
            environment: ["HOLDFAST_RATE": "20", "HOLDFAST_SENSOR_PUBLISHER_SIGNAL": "walk"])
        let stream = try #require(settings.streams.first)
        #expect(settings.streams.count == 1)
        #expect(stream.name.description == "phone/accelerometer")
        #expect(stream.source == .signal("walk"))
        #expect(stream.rate == 30)
        #expect(stream.batch == 3)
        #expect(settings.retention == .seconds(60))
        #expect(settings.retentionBytes.bytes == 1_000_000)
        #expect(settings.highWaterMark == 1000)
        #expect(!settings.startsStopped)
    }

    @Test(arguments: [
        ("lsl-host", "lab-3", "lsl"), ("baud", "9600", "serial"), ("format", "csv", "serial"),
        ("iio-trigger", "t", "iio"),
        ("iio-root", "/", "iio"), ("mqtt-user", "u", "mqtt"), ("topic", "lab/#", "mqtt"),
    ])
    func whatIsForASourceThatIsNotGivenIsRefused(setting: String, value: String, source: String) throws {
        let error = #expect(throws: ServiceError.self) { try settings(flags: ["signal": "sine", setting: value]) }
        #expect(error?.message.hasPrefix("\(setting) is for ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(source) == true)
    }

    @Test func asManyMessagesMayWaitAsTheStreamsSendInAWhile() throws {
        let streams = (0..<200).map { #"{"device": "d\#($0)", "signal": "sine"}"# }.joined(separator: ",")
        #expect(try settings(#"{"streams": [\#(streams)]}"#).highWaterMark == 2000)
        #expect(try settings(#"{"high-water-mark": 5, "streams": [\#(streams)]}"#).highWaterMark == 5)
    }

    @Test func withoutASourceTheCommandLineMakesNoSense() throws {
        let error = #expect(throws: ServiceError.self) { try settings(flags: ["rate": "5"]) }
        #expect(error?.status == .usage)
        for option in ["--signal", "--points", "--replay", "--stdin"] {
            #expect(error?.message.contains(option) == true)
        }
    }

    @Test(arguments: [(1.0, 1), (100, 1), (149, 1), (150, 2), (1000, 10), (1e6, 10_000), (1e9, 10_000)])
    func aBatchIsAHundredthOfASecond(rate: Double, batch: Int) throws {
        let stream = try StreamConfiguration(device: "d", stream: "s", source: .signal("sine"), rate: rate)
        let sampler = try #require(try stream.makeSampler() as? StreamSampler)
        #expect(sampler.batch == batch)
    }

    @Test func theUnitOfAWalkIsTheStreams() throws {
        let stream = try StreamConfiguration(device: "d", stream: "s", source: .signal("walk:noise=0"), unit: "m/s2")
        var sampler = try stream.makeSourcedSampler()
        #expect(sampler.unit == "m/s2")
        try sampler.start(at: 0)
        let batches = sampler.advance(to: 0, limit: 1)
        let first = try #require(batches.first).rows.dropFirst()
        #expect(abs(first.reduce(0) { $0 + $1 * $1 }.squareRoot() - 9.80665) < 1e-9)
    }

    @Test func aFileOfMotionWithFewFieldsHasAllOfThem() throws {
        try withFile("turn.csv", "t,gravity.z,rotationRate.x\n0,1,2\n") { path in
            var sampler = try StreamConfiguration(device: "d", stream: "deviceMotion", source: .replay(path))
                .makeSourcedSampler()
            try sampler.start(at: 0)
            let batches = sampler.advance(to: 0, limit: 10)
            #expect(batches.map(\.rows) == [[0, 0, 0, 0, 0, 0, 1, 2, 0, 0]])
        }
    }

    @Test func aCheckReadsAFileToItsEnd() throws {
        let rows = (0..<200).map { "\($0),1,2,\($0 == 150 ? "oops" : "3")" }
        try withFile("walk.csv", "t,x,y,z\n" + rows.joined(separator: "\n")) { path in
            let stream = try StreamConfiguration(device: "d", stream: "s", source: .replay(path))
            _ = try stream.makeSampler()
            let error = #expect(throws: PublisherError.self) { try stream.checkSource() }
            #expect(error?.message.contains("line 152: z: \"oops\" is not a number") == true)
        }
    }

    @Test(arguments: [
        (
            #"{"device": "a", "stream": "b"}"#,
            "streams[0]: give just one of signal, points, replay, stdin, serial, iio, lsl, not 0"
        ),
        (#"{"device": "a", "stream": "b", "signal": "sine", "stdin": "csv"}"#, "streams[0]: give just one of"),
        (#"{"device": "a/b", "stream": "b", "signal": "sine"}"#, "streams[0]: device: \"a/b\" is not a name"),
        (#"{"device": "a", "stream": "ä", "signal": "sine"}"#, "stream: \"ä\" is not a name"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "rat": 5}"#, "\"rat\" in streams[0]"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "rate": 0}"#, "a rate of 0.0 Hz"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "rate": "fast"}"#, "\"rate\" in streams[0]"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "batch": 0}"#, "batch: 0 samples"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "speed": -1}"#, "speed: -1.0"),
        (#"{"device": "a", "stream": "b", "signal": "sine", "loop": true}"#, "for a replay only"),
        (#"{"device": "a", "stream": "b", "signal": "sin"}"#, "there is no kind \"sin\""),
        (#"{"device": "a", "stream": "b", "stdin": "xml"}"#, "'xml' is not one of csv, ndjson"),
        (
            #"{"device": "a", "stream": "b", "stdin": "csv", "speed": 2}"#,
            "what a device or a program writes arrives at its own speed"
        ),
        (
            #"{"device": "a", "stream": "b", "signal": "sine"}, {"device": "a", "stream": "b", "stdin": "csv"}"#,
            "streams[1]: there is a stream a/b already"
        ),
        (
            #"{"device": "a", "stream": "b", "stdin": "csv"}, {"device": "a", "stream": "c", "stdin": "csv"}"#,
            "streams[1]: only one stream can read standard input"
        ),
        (#"{"device": "a", "stream": "b", "signal": "sine"}], "batch": [1"#, "\"batch\""),
        (#"{"device": "a", "stream": "b", "signal": "sine"}], "packed": true, "x": [1"#, "so packed can't be used"),
        (#"{"device": "a", "stream": "b", "signal": "sine"}], "high-water-mark": 0, "x": [1"#, "write 1 or more"),
    ])
    func aBadConfigurationSaysWhereAndWhat(stream: String, problem: String) {
        let error = #expect(throws: ServiceError.self) { try settings("{\"streams\": [\(stream)]}") }
        #expect(error?.status == .badConfiguration)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    /// Their samples would be mixed into one stream.
    @Test(arguments: [#""device": "B", "name": "left-hand""#, #""device": "left-hand""#])
    func twoPhonesDoNotShareAName(second: String) {
        let phones = #"{"device": "A", "name": "left-hand"}, {\#(second)}"#
        let error = #expect(throws: ServiceError.self) {
            try settings(#"{"listen-http": "8443", "phones": [\#(phones)]}"#)
        }
        #expect(error?.status == .badConfiguration)
        #expect(error?.message.contains("phones[1]: left-hand is the name of another phone") == true)
    }

    @Test(arguments: [
        ("tcp://127.0.0.1:5551", "tcp://127.0.0.1:5551"), ("ipc:///run/s", "ipc:///run/s"),
        ("tcp://192.168.1.7:5551", "tcp://192.168.1.7:5551"),
    ])
    func anEndpointOfOneAddressIsAnnouncedAsItIs(listening: String, announced: String) {
        #expect(Endpoint.announced(listening) == announced)
    }

    @Test(arguments: ["tcp://0.0.0.0:5551", "tcp://*:5551", "tcp://[::]:5551"])
    func anEndpointOfAllAddressesIsAnnouncedByOneOfThem(listening: String) throws {
        let announced = try Endpoint(typed: Endpoint.announced(listening))
        #expect(announced.port == 5551)
        #expect(announced.host.split(separator: ".").compactMap { UInt8($0) }.count == 4)
        #expect(announced.host != "0.0.0.0")
    }

    @Test(arguments: [
        ("sensors.example.org", "tcp://sensors.example.org:5551"), ("10.1.2.3", "tcp://10.1.2.3:5551"),
        ("tcp://gateway:7001", "tcp://gateway:7001"), ("[fd00::7]", "tcp://[fd00::7]:5551"),
    ])
    func whatTheUserAnnouncesIsAnnounced(typed: String, announced: String) throws {
        let announcement = try Announcement(typed: typed)
        #expect(Endpoint.announced("tcp://127.0.0.1:5551", as: announcement) == announced)
        #expect(Endpoint.announced("tcp://*:5551", as: announcement) == announced)
        #expect(try Announcement(typed: announcement.description) == announcement)
    }

    @Test(arguments: ["", "*", "tcp://*:5551", "ipc:///run/s", "tcp://host:*", "tcp://host:0", "a b", "host:5551"])
    func whatIsNoHostCanNotBeAnnounced(typed: String) {
        #expect(throws: InvalidValue.self) { try Announcement(typed: typed) }
    }

    @Test func devicesAreToldApartByTheirMachines() throws {
        var name = [CChar](repeating: 0, count: 256)
        #expect(gethostname(&name, name.count) == 0)
        let host = String(decoding: name.prefix { $0 != 0 && $0 != 46 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let settings = try settings(#"{"streams": [{"device": "wrist-%h", "signal": "sine"}]}"#)
        #expect(settings.streams.first?.device == "wrist-\(host)")
    }
}
