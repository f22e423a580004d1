import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Streams of records: numbers, text, dates and nested values on their way from a source to an archive.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct RecordStreamTests {
    private static let clients = FilePath(#filePath).removingLastComponent().appending("Clients")

    /// Records at intervals of a millisecond. Some have values that are hard to preserve.
    private static func mixed(_ count: Int) -> String {
        let texts = [
            #""walk""#, #""""#, "null", #""say \"hi\", you""#, #""tab\tline\nfeed""#, #""😀 \u00e4 ]]}""#, #""a\\b""#,
        ]
        let values = [
            #"[{"phase":"began","x":1.50}]"#, "{}", "null", #"{"a":{"b":[1,2,"]"]}}"#, #""text""#, "[]", "true",
        ]
        return (0..<count).map { n in
            let label = n % 97 == 0 ? "\"\(String(repeating: "long ", count: 2_000))\"" : texts[n % texts.count]
            let date = n % 5 == 0 ? "null" : #""2026-11-21T08:00:\#(n % 60 / 10)\#(n % 10)Z""#
            return #"{"t":\#(Double(n) / 1_000),"n":\#(n),"label":\#(label),"big":\#(1 << 60 + n),"#
                + #""lat":-60.\#(n)50,"at":\#(date),"ok":\#(n % 2 == 0),"touch":\#(values[n % values.count])}"# + "\n"
        }.joined()
    }

    private static let publishing = [
        "--replay", "mixed.ndjson", "--device", "phone", "--stream", "events",
        "--fields", "n,label:text,big,lat,at:date,ok:boolean,touch:json",
    ]

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), arguments: ["json", "csv", "tsv"])
    func aMixedStreamSurvivesKillsAndRotation(format: String) async throws {
        try await Cutoff.run { cutoff in
            let source = cutoff.directory.appending("mixed.ndjson")
            try Self.mixed(60_000).write(toFile: source.string, atomically: true, encoding: .utf8)
            try await cutoff.publisher(Self.publishing) { publisher in
                try await cutoff.recorder { recorder in
                    try await cutoff.start(
                        RecordingStart(
                            session: "mixed", task: "Day", streams: ["phone/"], format: format,
                            maximumFileSize: 400_000))
                    try await cutoff.more(1_500, in: "mixed")
                    try await cutoff.kill(recorder)
                }
                try await cutoff.recorder { _ in
                    try await cutoff.more(1_000, in: "mixed")
                    try await cutoff.kill(publisher)
                    try await cutoff.publisher(Self.publishing) { _ in
                        try await cutoff.more(1_500, in: "mixed")
                        let result = try await cutoff.stop("mixed")
                        try await Self.check(result, source, format, in: cutoff.directory)
                        try await Self.discard(cutoff)
                    }
                }
            }
        }
    }

    /// Checks a session of the mixed stream with `verify`, an independent parser and the archive.
    private static func check(
        _ result: RecordingResult, _ source: FilePath, _ format: String, in data: FilePath
    ) async throws {
        let isWhole = result.report.isWhole
        let stream = try #require(result.report.streams.first)
        #expect(stream.lost == 0)
        // If the publisher returns late, as on a busy machine, the end of its former run may be unknown.
        #expect(isWhole || stream.gaps.allSatisfy { $0.count == 0 }, "\(result.report)")
        #expect(stream.recovered > 0)
        #expect(stream.types?["touch"] == .json)
        let log = try #require(result.logs.first)
        #expect(log.name == "phone_events")
        #expect(log.files.count > 2)
        #expect(log.samples == stream.received)

        let verified = try await Tool.run(ProductsDirectory.executable("recorder"), ["verify", result.directory])
        #expect(verified.isSuccess == isWhole && verified.output.hasSuffix(": whole\n") == isWhole, "\(verified)")
        let records = try await Python.run(
            clients.appending("records.py"), arguments: [source.string, result.directory, log.name])
        #expect(records == "ok \(log.samples) records in 2 runs\n")
        let info = try await Tool.output(of: ProductsDirectory.executable("recorder"), ["info", result.directory])
        let fields = "uptime number, n number, label text, big number, lat number, at date, ok boolean, touch json"
        #expect(info.contains("fields of phone/events: \(fields)\n"), "\(info)")

        let archives = data.appending("made")
        try await Tool.output(
            of: ProductsDirectory.executable("archiver"), ["create", result.directory, "--to", archives.string])
        let extracted = data.appending("extracted")
        let archive = archives.appending("mixed.zip").string
        try await Tool.output(
            of: ProductsDirectory.executable("archiver"), ["extract", archive, "--to", extracted.string])
        let metadata = try JSONDecoder().decode(
            Metadata.self, from: Data(contentsOf: URL(filePath: extracted.appending("metadata.json").string)))
        let files = metadata.files.filter { log.files.contains($0.filename) }
        #expect(files.count == log.files.count)
        for file in files where file.samples ?? 0 > 0 {
            #expect(file.fields?.map(\.name) == ["n", "label", "big", "lat", "at", "ok", "touch"])
            #expect(file.fields?.map(\.type) == ["number", "text", "number", "number", "date", "boolean", "json"])
        }
    }

    /// Discards the session, and checks that none of its texts is left.
    private static func discard(_ cutoff: Cutoff) async throws {
        let recordings = cutoff.directory.appending("recordings")
        func texts() throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: recordings.string).filter { path in
                let bytes = FileManager.default.contents(atPath: recordings.appending(path).string) ?? Data()
                return path.contains("mixed") || bytes.firstRange(of: Array("long long ".utf8)) != nil
            }
        }
        #expect(try !texts().isEmpty)
        let refusal = await #expect(throws: RequestError.self) {
            try await cutoff.recordings.send(RecordingDiscard(session: "mixed"), timeout: .seconds(60))
        }
        #expect(refusal?.data?.reason == "wouldDelete")
        _ = try await cutoff.recordings.send(RecordingDiscard(session: "mixed", force: true), timeout: .seconds(60))
        try await eventually("nothing is left of the session") { try texts().isEmpty }
    }

    private struct Metadata: Decodable {
        struct File: Decodable {
            struct Field: Decodable {
                var name: String
                var type: String
            }

            var filename: String
            var samples: Int?
            var fields: [Field]?
        }

        var files: [File]
    }

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func aSubscriberReadsRecords() async throws {
        try await Rig.run(publishing: Self.publishing, files: ["mixed.ndjson": Self.mixed(60_000)]) { rig in
            let output = try await Python.run(
                Self.clients.appending("subscribe_records.py"),
                arguments: [rig.publisherReady.publish, "samples/phone/events", "200"])
            #expect(
                output == "ok uptime:number n:number label:text big:number lat:number at:date ok:boolean touch:json\n")
        }
    }

    // MARK: The ancestors' recorders

    /// Five items for each of the ancestors' recorders, as their tests injected them.
    private static let injected: [String: (item: @Sendable (Int) -> String, fields: [String])] = [
        "accel": (
            { #"{"timestamp":\#(1_000 + $0),"timestampSince1970":\#(1_200 + $0),"x":0.1,"y":0.12,"z":0.123}"# },
            ["timestampSince1970", "x", "y", "z"]
        ),
        "deviceMotion": (
            {
                #"{"timestamp":\#(1_000 + $0),"attitude":{"x":0.1,"y":0.2,"z":0.3,"w":0.4},"rotationRate":{"x":0.5,"y":0.6,"z":0.7},"#
                    + #""gravity":{"x":0.8,"y":0.9,"z":-1},"userAcceleration":{"x":1.1,"y":1.2,"z":1.3},"#
                    + #""magneticField":{"x":20.5,"y":-3,"z":41,"accuracy":\#($0)},"referenceCoordinate":"xArbitraryZVertical"}"#
            },
            [
                "attitude.x", "attitude.y", "attitude.z", "attitude.w", "rotationRate.x", "rotationRate.y",
                "rotationRate.z",
                "gravity.x", "gravity.y", "gravity.z", "userAcceleration.x", "userAcceleration.y", "userAcceleration.z",
                "magneticField.x", "magneticField.y", "magneticField.z", "magneticField.accuracy",
                "referenceCoordinate",
            ]
        ),
        "pedometer": (
            {
                #"{"t":\#($0),"startDate":"2026-11-21T08:00:0\#($0)+0100","endDate":"2026-11-21T08:01:00.5Z","numberOfSteps":2,"#
                    + #""distance":1.2,"floorsAscended":0.1,"floorsDescended":0}"#
            },
            ["startDate", "endDate", "numberOfSteps", "distance", "floorsAscended", "floorsDescended"]
        ),
        "location": (
            {
                #"{"t":\#($0),"timestampDate":"2026-11-21T08:00:0\#($0)Z","coordinate":{"latitude":60.17,"longitude":24.94},"altitude":-12.5,"#
                    + #""horizontalAccuracy":5,"verticalAccuracy":null,"course":270.25,"speed":1.4,"floor":"B1","simulated":false}"#
            },
            [
                "timestampDate", "coordinate.latitude", "coordinate.longitude", "altitude", "horizontalAccuracy",
                "verticalAccuracy", "course", "speed", "floor", "simulated",
            ]
        ),
        "touch": (
            {
                #"{"t":\#($0),"phase":"began","location":{"x":12,"y":34.5},"force":0.33,"touches":[{"id":1,"path":[[1,2],[3,4]]}],"stylus":null}"#
            },
            ["phase", "location.x", "location.y", "force", "touches", "stylus"]
        ),
        "audio": (
            { #"{"t":\#($0),"timeInterval":1,"unit":"dbFS","average":-30.2,"peak":-12.\#($0)5}"# },
            ["timeInterval", "unit", "average", "peak"]
        ),
        "health": (
            {
                #"{"t":\#($0),"type":"HKQuantityTypeIdentifierHeartRate","value":62.\#($0)5,"unit":"count/min","#
                    + #""startDate":"2026-11-21T08:00:0\#($0)Z","endDate":"2026-11-21T08:00:1\#($0)Z","source":{"name":"watch","version":null}}"#
            },
            ["type", "value", "unit", "startDate", "endDate", "source"]
        ),
    ]

    /// Cases 22 to 27 of SEEDS: each of the ancestors' recorders, including audio levels and health (26), is a stream. Ours:
    /// vectors have a column for each component, and a field whose name the record itself uses gets a final "_".
    @Test(arguments: ["json", "csv"])
    func case22Case23Case24Case25Case26Case27FiveInjectedItemsAreRecordedWithAllFields(format: String) async throws {
        let streams = Self.injected.keys.sorted()
        let sections = streams.map {
            #"{"device":"phone","stream":"\#($0)","replay":"\#($0).ndjson","rebase":true,"speed":100}"#
        }
        var files = ["streams.json": #"{"sensor-publisher":{"streams":[\#(sections.joined(separator: ","))]}}"#]
        for (name, (item, _)) in Self.injected { files["\(name).ndjson"] = (0..<5).map { item($0) + "\n" }.joined() }
        try await Rig.run(publishing: ["--config", "streams.json", "--start-stopped"], files: files) { rig in
            try await rig.start(RecordingStart(session: "all", streams: ["phone/"], format: format))
            for stream in streams {
                try await rig.startStream("phone/\(stream)")
                _ = try await rig.ended("phone/\(stream)")
            }
            try await eventually("all items") {
                let state = try await rig.recordings.send(RecordingStatus(session: "all"), timeout: .seconds(60))
                return state.logs.count == streams.count && state.logs.allSatisfy { $0.samples == 5 }
            }
            let result = try await rig.stop("all")
            #expect(result.report.isWhole, "\(result.report)")
            // Case 27.
            #expect(result.logs.map(\.name).sorted() == streams.map { "phone_\($0)" })
            let verified = try await Tool.output(
                of: ProductsDirectory.executable("recorder"), ["verify", result.directory])
            #expect(verified.hasSuffix(": whole\n"), "\(verified)")
            for log in result.logs {
                let name = String(log.name.dropFirst("phone_".count))
                let (item, fields) = try #require(Self.injected[name])
                let file = FilePath(result.directory).appending(try #require(log.files.first))
                let samples = try Self.samples(of: file, format)
                #expect(samples.count == 5, "\(name)")
                for (index, sample) in samples.enumerated() {
                    let source = try JSONDecoder().decode([String: JSONValue].self, from: Data(item(index).utf8))
                    for field in fields {
                        let want = Self.value(field, in: source)
                        // The marker's date and unit have these names.
                        let column = ["timestampDate", "unit"].contains(field) ? field + "_" : field
                        #expect(
                            sample[column] == (format == "json" ? want : Self.cell(want)),
                            "\(name) \(field): \(String(describing: sample[column]))")
                    }
                }
            }
        }
    }

    private static func value(_ field: String, in source: [String: JSONValue]) -> JSONValue? {
        let parts = field.split(separator: ".").map(String.init)
        guard parts.count == 2, case .object(let inner)? = source[parts[0]] else { return source[field] }
        return inner[parts[1]]
    }

    /// The value that a table's cell shows.
    private static func cell(_ value: JSONValue?) -> JSONValue? {
        switch value {
        case .null: .string("")
        case .boolean(let value): .string("\(value)")
        case .integer(let value): .string("\(value)")
        case .number(let value): .string("\(value)")
        case .array: .string(#"[{"id":1,"path":[[1,2],[3,4]]}]"#)
        case .object: .string(#"{"name":"watch","version":null}"#)
        default: value
        }
    }

    private static func samples(of file: FilePath, _ format: String) throws -> [[String: JSONValue]] {
        let bytes = try Data(contentsOf: URL(filePath: file.string))
        if format == "json" {
            return try JSONDecoder().decode([[String: JSONValue]].self, from: bytes).filter { $0["sensorType"] != nil }
        }
        let rows = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(Self.cells)
        return rows.dropFirst().map { row in
            Dictionary(uniqueKeysWithValues: zip(rows[0], row.map(JSONValue.string)))
        }.filter { $0["sensorType"] != .string("") }
    }

    /// The cells of a line, in which none has a line end.
    private static func cells(_ line: Substring) -> [String] {
        var cells = [""]
        var isQuoted = false
        var wasQuote = false
        for character in line {
            if character == "\"" {
                if wasQuote { cells[cells.count - 1].append(character) }
                isQuoted.toggle()
                wasQuote = !isQuoted && !wasQuote
                continue
            }
            wasQuote = false
            if character == ",", !isQuoted { cells.append("") } else { cells[cells.count - 1].append(character) }
        }
        return cells
    }
}
