import Logging
import ServiceKit
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConfigurationReaderTests {
    /// Reads a configuration file in a directory of its own.
    private static func read<Result>(
        as program: Program = .recorder, file: String, flags: FlagValues = FlagValues(),
        environment: [String: String] = [:], _ body: (ConfigurationReader) throws -> Result
    ) throws -> Result {
        try withTemporaryDirectory { directory in
            let path = directory.appending("holdfast.json")
            let descriptor = try FileDescriptor.open(
                path, .writeOnly, options: .create, permissions: .ownerReadWrite)
            try descriptor.closeAfter { _ = try descriptor.writeAll(file.utf8) }
            var flags = flags
            flags.set("config", path)
            return try body(ConfigurationReader(for: program, flags: flags, environment: environment))
        }
    }

    private static func reader(
        as program: Program = .recorder, flags: FlagValues = FlagValues(), environment: [String: String] = [:]
    ) throws -> ConfigurationReader {
        try ConfigurationReader(for: program, flags: flags, environment: environment)
    }

    private static func failure(_ body: () throws -> Void) throws -> ServiceError {
        try #require(#expect(throws: ServiceError.self) { try body() })
    }

    @Test func theMostSpecialLayerThatSaysSomethingDecides() throws {
        var flags = FlagValues()
        flags.set("sync-interval", try TimeSpan(typed: "1s"))
        let environment = ["HOLDFAST_RECORDER_SYNC_INTERVAL": "2s", "HOLDFAST_SYNC_INTERVAL": "3s"]
        let file = #"{"sync-interval": "5s", "recorder": {"sync-interval": "4s"}}"#
        let layers: [(flags: FlagValues, environment: [String: String], file: String, seconds: Int64)] = [
            (flags, environment, file, 1),
            (FlagValues(), environment, file, 2),
            (FlagValues(), ["HOLDFAST_SYNC_INTERVAL": "3s"], file, 3),
            (FlagValues(), [:], file, 4),
            (FlagValues(), [:], #"{"sync-interval": "5s", "recorder": {"data": "x"}}"#, 5),
            (FlagValues(), [:], "{}", 6),
        ]
        for layer in layers {
            let span = try Self.read(file: layer.file, flags: layer.flags, environment: layer.environment) {
                try $0.value("sync-interval", default: TimeSpan.seconds(6))
            }
            #expect(span == .seconds(layer.seconds))
        }
    }

    @Test func aVariableOfAnotherProgramSaysNothing() throws {
        let environment = ["HOLDFAST_SENSOR_PUBLISHER_PUBLISH": "ipc:///a", "HOLDFAST_PUBLISH": "ipc:///b"]
        let publisher = try Self.reader(as: .sensorPublisher, environment: environment)
        let recorder = try Self.reader(as: .recorder, environment: environment)
        #expect(try publisher.value("publish", as: Endpoint.self)?.description == "ipc:///a")
        #expect(try recorder.value("publish", as: Endpoint.self)?.description == "ipc:///b")
    }

    @Test func anEmptyVariableSaysNothing() throws {
        #expect(try Self.reader(environment: ["HOLDFAST_DATA": ""]).value("data", default: "./data") == "./data")
    }

    @Test func theFileCanBeNamedByTheEnvironment() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending("elsewhere.json")
            let descriptor = try FileDescriptor.open(path, .writeOnly, options: .create, permissions: .ownerReadWrite)
            try descriptor.closeAfter { _ = try descriptor.writeAll(#"{"data": "/srv"}"#.utf8) }
            let reader = try Self.reader(environment: ["HOLDFAST_CONFIG": path.string])
            #expect(try reader.value("data", as: String.self) == "/srv")
            try reader.finish()
        }
    }

    @Test func aFileMayWriteNumbersAndTruth() throws {
        let file = #"{"wait": 0.2, "size": 1048576, "packed": true, "rate": 100, "nothing": null, "tiny": 0.000001}"#
        try Self.read(file: file) { reader in
            #expect(try reader.value("wait", as: TimeSpan.self) == .milliseconds(200))
            #expect(try reader.value("size", as: ByteCount.self)?.bytes == 1_048_576)
            #expect(try reader.value("packed", as: Bool.self) == true)
            #expect(try reader.value("rate", as: Double.self) == 100)
            #expect(try reader.value("rate", as: Int.self) == 100)
            #expect(try reader.value("nothing", as: String.self) == nil)
            #expect(try reader.value("tiny", as: Double.self) == 1e-6)
            try reader.finish()
        }
    }

    @Test func aListIsRepeatedOrHasCommasOrBrackets() throws {
        let expected = ["ipc:///a", "ipc:///b"]
        var flags = FlagValues()
        flags.set("subscribe", all: try expected.map { try Endpoint(typed: $0) })
        #expect(try Self.reader(flags: flags).values("subscribe", as: String.self) == expected)
        let environment = ["HOLDFAST_SUBSCRIBE": "ipc:///a, ipc:///b"]
        #expect(try Self.reader(environment: environment).values("subscribe", as: String.self) == expected)
        for (file, values) in [
            (#"{"subscribe": ["ipc:///a", "ipc:///b"]}"#, expected), (#"{"subscribe": "ipc:///a"}"#, ["ipc:///a"]),
            (#"{"subscribe": []}"#, []), ("{}", []),
        ] {
            #expect(try Self.read(file: file) { try $0.values("subscribe", as: String.self) } == values)
        }
    }

    @Test func aBadValueNamesItsSourceAndWhatWouldBeRight() throws {
        let reason = "'5 parsecs' is not a duration: write 200ms, 10s, 5m, 2h or 7d"
        func read(_ reader: ConfigurationReader) throws { _ = try reader.value("wait", as: TimeSpan.self) }

        var flags = FlagValues()
        flags.set("wait", "5 parsecs")
        let ofFlag = try Self.failure { try read(Self.reader(flags: flags)) }
        #expect(ofFlag == ServiceError(.badConfiguration, "--wait: \(reason)"))

        for name in ["HOLDFAST_WAIT", "HOLDFAST_RECORDER_WAIT"] {
            let ofVariable = try Self.failure { try read(Self.reader(environment: [name: "5 parsecs"])) }
            #expect(ofVariable == ServiceError(.badConfiguration, "\(name): \(reason)"))
        }

        let ofFile = try Self.failure { try Self.read(file: #"{"wait": "5 parsecs"}"#, read) }
        #expect(ofFile.message.hasPrefix("\"wait\" in /"))
        #expect(ofFile.message.hasSuffix("/holdfast.json: \(reason)"))
        let ofSection = try Self.failure { try Self.read(file: #"{"recorder": {"wait": "5 parsecs"}}"#, read) }
        #expect(ofSection.message.hasSuffix("/holdfast.json, section recorder: \(reason)"))
    }

    @Test func aListWhereOneValueIsMeantIsExplained() throws {
        let error = try Self.failure {
            try Self.read(file: #"{"data": ["a", "b"]}"#) { _ = try $0.value("data", as: String.self) }
        }
        #expect(error.message.hasSuffix("holdfast.json: this is a list: write one value"))
    }

    @Test(arguments: [
        #"{"dtaa": "/srv"}"#, #"{"recorder": {"dtaa": "/srv"}}"#, #"{"dtaa": {"data": "/srv"}}"#, #"{"dtaa": null}"#,
    ])
    func aKeyThatNobodyReadsIsRefused(file: String) throws {
        let error = try Self.failure {
            try Self.read(file: file) { reader in
                _ = try reader.value("data", as: String.self)
                try reader.finish()
            }
        }
        #expect(error.status == .badConfiguration)
        #expect(error.message.hasPrefix("\"dtaa\" in "))
        #expect(error.message.hasSuffix(" is not a setting of recorder: the settings are config, data"))
    }

    @Test(arguments: [
        #"{"data": {"path": "/srv"}}"#, #"{"data": [{"path": "/srv"}]}"#, #"{"recorder": {"data": {"path": "/srv"}}}"#,
    ])
    func anObjectInPlaceOfAValueIsRefused(file: String) {
        for isList in [false, true] {
            let error = #expect(throws: ServiceError.self) {
                try Self.read(file: file) { reader in
                    if isList {
                        _ = try reader.values("data", as: String.self)
                    } else {
                        _ = try reader.value("data", as: String.self)
                    }
                }
            }
            #expect(error?.status == .badConfiguration)
            #expect(error?.message.hasSuffix("is an object: write a value") == true)
        }
    }

    @Test func theSectionsOfOtherProgramsAreTheirs() throws {
        try Self.read(file: #"{"data": "/srv", "sensor-publisher": {"anything": 1}}"#) { reader in
            #expect(try reader.value("data", as: String.self) == "/srv")
            try reader.finish()
        }
    }

    @Test func aListOfObjectsIsReadObjectByObject() throws {
        let file =
            #"{"sensor-publisher": {"streams": [{"device": "phone", "rate": 100}, {"device": "wrist", "wait": "1s"}]}}"#
        try Self.read(as: .sensorPublisher, file: file) { reader in
            let streams = try reader.sections("streams")
            #expect(try streams.map { try $0.value("device", as: String.self) } == ["phone", "wrist"])
            #expect(try streams.map { try $0.value("rate", default: 50) } == [100, 50])
            let error = try Self.failure { try reader.finish() }
            #expect(error.message.contains("\"wait\" in streams[1] in "))
        }
    }

    @Test func aBadValueInAListOfObjectsIsNamedWithItsPlace() throws {
        let error = try Self.failure {
            try Self.read(file: #"{"streams": [{"rate": "often"}]}"#) { reader in
                for stream in try reader.sections("streams") { _ = try stream.value("rate", as: Double.self) }
            }
        }
        #expect(error.message.hasPrefix("\"rate\" in streams[0] in "))
        #expect(error.message.hasSuffix(": 'often' is not a number: write 100, 0.5 or 1e-3"))
    }

    @Test(arguments: [
        #"{"data": "/srv""#, "", "data=/srv", #"["data"]"#, "7", #"{"data": [1, {"a": 1}]}"#, #"{"recorder": 7}"#,
        #"{"recorder": [{"data": 1}]}"#, #"{"data": [[1]]}"#,
    ])
    func aFileThatIsNoConfigurationIsRefusedByName(file: String) throws {
        let error = try Self.failure { try Self.read(file: file) { _ in } }
        #expect(error.status == .badConfiguration)
        #expect(error.message.contains("holdfast.json"))
    }

    @Test func aBrokenFileIsShownWhereItBreaks() throws {
        let error = try Self.failure { try Self.read(file: "{\n  \"data\": \"/srv\"\n  \"publish\": 1\n}") { _ in } }
        #expect(error.message.contains("line 3"))
    }

    @Test func aMissingFileIsNamed() throws {
        var flags = FlagValues()
        flags.set("config", "/no/such/file.json")
        let error = try Self.failure { _ = try Self.reader(flags: flags) }
        #expect(
            error
                == ServiceError(
                    .badConfiguration,
                    "the configuration file /no/such/file.json can't be read: No such file or directory"))
    }

    @Test func whatEveryProgramNeedsHasItsDefaults() throws {
        let configuration = try ServiceConfiguration(for: .recorder, reading: Self.reader())
        #expect(configuration.dataDirectory == "./data")
        #expect(configuration.publish == Program.recorder.defaultPublish)
        #expect(configuration.reply == Program.recorder.defaultReply)
        #expect(configuration.logLevel == .info)
    }

    @Test func anEndpointThatOthersReachNeedsInsecureFromAnyLayer() throws {
        let open = ["HOLDFAST_REPLY": "tcp://*:5561"]
        let error = try Self.failure {
            _ = try ServiceConfiguration(for: .recorder, reading: Self.reader(environment: open))
        }
        #expect(error.status == .badConfiguration)
        #expect(error.message.hasPrefix("reply tcp://*:5561 can be reached from other machines"))
        let allowed = open.merging(["HOLDFAST_INSECURE": "yes"]) { $1 }
        _ = try ServiceConfiguration(for: .recorder, reading: Self.reader(environment: allowed))
    }

    @Test func aLogLevelIsReadInAnyCaseAndItsMistakesListTheLevels() throws {
        let reader = try Self.reader(environment: ["HOLDFAST_LOG_LEVEL": "Debug"])
        #expect(try ServiceConfiguration(for: .recorder, reading: reader).logLevel == .debug)
        let error = try Self.failure {
            _ = try ServiceConfiguration(
                for: .recorder, reading: Self.reader(environment: ["HOLDFAST_LOG_LEVEL": "loud"]))
        }
        #expect(error.message.hasPrefix("HOLDFAST_LOG_LEVEL: 'loud' is not a log level: write one of trace, debug, "))
    }
}
