import Foundation
import Messages
import Recording
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordFormatterTests {
    private let fields = ["uptime", "x", "y", "z"]
    private let timeline = SessionTimeline(task: "Task", step: "step1")
    private let second: Int64 = 1_000_000_000

    private func formatter(_ format: LogFormat, fields: [String]? = nil) -> RecordFormatter {
        RecordFormatter(format: format, sensorType: "accelerometer", fields: fields ?? self.fields)
    }

    // MARK: Golden bytes

    @Test func jsonRecordsHaveTheirKeysInOrder() {
        var formatter = formatter(.json)
        let rows = Rows(values: [[1234.57, 1.2, 3.4, 5.6], [1234.58, 0, -0.0, 1e-5]])
        #expect(
            formatter.text(packed: rows, timeline: timeline, origin: 1234 * second).text == """
                ,
                {"uptime":1234.57,"timestamp":0.57,"stepPath":"Task/step1","sensorType":"accelerometer",\
                "x":1.2,"y":3.4,"z":5.6},
                {"uptime":1234.58,"timestamp":0.58,"stepPath":"Task/step1","sensorType":"accelerometer",\
                "x":0,"y":-0,"z":1e-05}
                """)
    }

    /// SEEDS case 30.
    @Test func tablesHaveAColumnForEverything() {
        var formatter = formatter(.csv)
        #expect(
            formatter.header
                == "uptime,timestamp,stepPath,sensorType,x,y,z,timestampDate,marker,epoch,from,count,reason,device,unit,rate"
        )
        let rows = Rows(values: [[0.01, 1.2, 3.4, 5.6], [0.02, 5, 1e16, -7]])
        #expect(
            formatter.text(packed: rows, timeline: timeline).text == """

                0.01,0.01,Task/step1,accelerometer,1.2,3.4,5.6,,,,,,,,,
                0.02,0.02,Task/step1,accelerometer,5,1e+16,-7,,,,,,,,,
                """)
        var tabbed = self.formatter(.tsv)
        #expect(tabbed.header == formatter.header.replacing(",", with: "\t"))
        #expect(
            tabbed.text(packed: rows, timeline: timeline).text
                == formatter.text(packed: rows, timeline: timeline).text.replacing(",", with: "\t"))
    }

    /// SEEDS case 39.
    @Test func markersHaveTheirDateAndNoSensorType() throws {
        let origin: Int64 = 37_245_437_080_208_337
        let marker = Marker(
            .start, time: 1_249_814_083, date: "2018-01-30T15:13:20.597-02:30", stepPath: "Foo Task/sectionA/step1")
        #expect(
            formatter(.json).text(marker, origin: origin / 1000) == """
                ,
                {"uptime":37246.686894291,"timestamp":1.249814083,"stepPath":"Foo Task/sectionA/step1",\
                "timestampDate":"2018-01-30T15:13:20.597-02:30","marker":"start"}
                """)
        #expect(
            formatter(.csv).text(marker, origin: origin / 1000)
                == "\n37246.686894291,1.249814083,Foo Task/sectionA/step1,,,,,2018-01-30T15:13:20.597-02:30,start,,,,,,,"
        )
    }

    @Test(arguments: [
        (Marker.Event.start, "start"), (.step, "step"), (.pause, "pause"), (.resume, "resume"), (.resumed, "resumed"),
        (.stop, "stop"),
    ])
    func eachMarkerHasItsWord(event: Marker.Event, word: String) {
        let marker = Marker(event, time: 0, date: "2026-11-21T02:55:01.123Z", stepPath: "")
        #expect(
            formatter(.json).text(marker) == """
                ,
                {"uptime":0,"timestamp":0,"stepPath":"","timestampDate":"2026-11-21T02:55:01.123Z","marker":"\(word)"}
                """)
        #expect(formatter(.tsv).text(marker) == "\n0\t0\t\t\t\t\t\t2026-11-21T02:55:01.123Z\t\(word)\t\t\t\t\t\t\t")
    }

    /// A file's first record describes the samples after it.
    @Test func aFilesBeginningSaysWhatIsInIt() throws {
        var marker = Marker(
            .step, time: 0, date: "d", stepPath: "walk",
            description: SessionRecord.Log(
                name: LogName("a"), device: "phone", stream: "a", fields: [], unit: "m/s2", rate: 100),
            position: Marker.Position(epoch: "E1", next: 1200))
        #expect(
            formatter(.json).text(marker) == """
                ,
                {"uptime":0,"timestamp":0,"stepPath":"walk","timestampDate":"d","marker":"step","epoch":"E1",\
                "from":1200,"device":"phone","unit":"m/s2","rate":100}
                """)
        #expect(formatter(.csv).text(marker) == "\n0,0,walk,,,,,d,step,E1,1200,,,phone,m/s2,100")
        marker.description = SessionRecord.Log(name: LogName("a"), device: "left, \"wrist\"", stream: "a", fields: [])
        #expect(
            formatter(.json).text(marker).hasSuffix(
                #""marker":"step","epoch":"E1","from":1200,"device":"left, \"wrist\""}"#))
        #expect(formatter(.csv).text(marker) == "\n0,0,walk,,,,,d,step,E1,1200,,,\"left, \"\"wrist\"\"\",,")
        // A gap itself names the missing samples.
        marker.event = .gap(Gap(epoch: "E0", from: 7, count: 2, reason: .notRetained))
        #expect(formatter(.csv).text(marker).contains(",gap,E0,7,2,notRetained,"))
    }

    @Test func anAnnotationHasItsOwnTimeAndWhenItArrived() {
        let marker = Marker(
            .annotation(label: "sat, then fell"), time: second, date: "2026-11-21T02:55:03.123-02:30", stepPath: "walk")
        #expect(
            formatter(.json).text(marker) == """
                ,
                {"uptime":1,"timestamp":1,"stepPath":"walk","timestampDate":"2026-11-21T02:55:03.123-02:30",\
                "marker":"annotation","reason":"sat, then fell"}
                """)
        #expect(formatter(.csv).text(marker).contains(#",annotation,,,,"sat, then fell","#))
    }

    @Test func aGapSaysWhatIsMissingAndWhy() {
        let gap = Gap(epoch: "0E984725-C51C-4BF4-9960-E1C80E27ABA0", from: 1200, count: 100, reason: .notRetained)
        let marker = Marker(.gap(gap), time: 2 * second, date: "2026-11-21T02:55:03.123-02:30", stepPath: "walk")
        #expect(
            formatter(.json).text(marker) == """
                ,
                {"uptime":2,"timestamp":2,"stepPath":"walk","timestampDate":"2026-11-21T02:55:03.123-02:30",\
                "marker":"gap","epoch":"0E984725-C51C-4BF4-9960-E1C80E27ABA0","from":1200,"count":100,\
                "reason":"notRetained"}
                """)
        #expect(
            formatter(.csv).text(marker)
                == "\n2,2,walk,,,,,2026-11-21T02:55:03.123-02:30,gap,0E984725-C51C-4BF4-9960-E1C80E27ABA0,1200,100,notRetained,,,"
        )
    }

    @Test func numbersThatAreNoneAreWords() throws {
        let rows = Rows(values: [[1, .nan, .infinity, -.infinity]])
        var json = formatter(.json)
        var csv = formatter(.csv)
        let expected =
            #"{"uptime":1,"timestamp":1,"stepPath":"Task/step1","sensorType":"accelerometer","x":"NaN","y":"Infinity","z":"-Infinity"}"#
        #expect(json.text(packed: rows, timeline: timeline).text == ",\n" + expected)
        #expect(try json.text(json: rows.json, count: 1, timeline: timeline).text == ",\n" + expected)
        #expect(
            csv.text(packed: rows, timeline: timeline).text
                == "\n1,1,Task/step1,accelerometer,NaN,Infinity,-Infinity,,,,,,,,,")
        #expect(
            try csv.text(json: rows.json, count: 1, timeline: timeline).text
                == csv.text(packed: rows, timeline: timeline).text)
    }

    @Test func nullStaysNullOrIsEmpty() throws {
        let values = Array("[[1,null,2,null]]".utf8)
        var json = formatter(.json)
        var csv = formatter(.csv)
        #expect(
            try json.text(json: values, count: 1, timeline: timeline).text
                == ",\n"
                + #"{"uptime":1,"timestamp":1,"stepPath":"Task/step1","sensorType":"accelerometer","x":null,"y":2,"z":null}"#
        )
        #expect(
            try csv.text(json: values, count: 1, timeline: timeline).text
                == "\n1,1,Task/step1,accelerometer,,2,,,,,,,,,,")
    }

    @Test func digitsThatCameAsJSONAreCopied() throws {
        let values = Array(" [ [ 1.50 , 1.0 ,2E3, 0.1000 ] ,\n[2.0,1e0,3,4] ] ".utf8)
        var csv = formatter(.csv)
        #expect(
            try csv.text(json: values, count: 2, timeline: timeline, origin: second).text == """

                1.50,0.5,Task/step1,accelerometer,1.0,2E3,0.1000,,,,,,,,,
                2.0,1,Task/step1,accelerometer,1e0,3,4,,,,,,,,,
                """)
    }

    @Test func aRowMayBeItsUptimeAlone() throws {
        var json = formatter(.json, fields: ["uptime"])
        var csv = formatter(.csv, fields: ["uptime"])
        let rows = Rows(values: [[2]])
        let expected = ",\n" + #"{"uptime":2,"timestamp":2,"stepPath":"Task/step1","sensorType":"accelerometer"}"#
        #expect(json.text(packed: rows, timeline: timeline).text == expected)
        #expect(try json.text(json: rows.json, count: 1, timeline: timeline).text == expected)
        #expect(csv.text(packed: rows, timeline: timeline).text == "\n2,2,Task/step1,accelerometer,,,,,,,,,")
        #expect(
            csv.header
                == "uptime,timestamp,stepPath,sensorType,timestampDate,marker,epoch,from,count,reason,device,unit,rate")
    }

    // MARK: Quoting

    @Test func textsAreQuotedWhereTheyMustBe() throws {
        let nasty = "a,\"b\"\tc\nd\\e\u{1}/é"
        let timeline = SessionTimeline(task: nasty, step: "")
        let rows = Rows(values: [[1, 2]])
        var json = RecordFormatter(format: .json, sensorType: nasty, fields: ["uptime", nasty])
        let text = json.text(packed: rows, timeline: timeline).text.dropFirst(2)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["stepPath"] as? String == nasty)
        #expect(object["sensorType"] as? String == nasty)
        #expect(object[nasty] as? Double == 2)
        for format in [LogFormat.csv, .tsv] {
            var table = RecordFormatter(format: format, sensorType: nasty, fields: ["uptime", nasty])
            let marker = Marker(.step, time: 0, date: "d", stepPath: nasty)
            let text = table.header + table.text(packed: rows, timeline: timeline).text + table.text(marker)
            let records = Self.parse(text, delimiter: format == .csv ? "," : "\t")
            #expect(
                records == [
                    [
                        "uptime", "timestamp", "stepPath", "sensorType", nasty, "timestampDate", "marker", "epoch",
                        "from", "count", "reason", "device", "unit", "rate",
                    ],
                    ["1", "1", nasty, nasty, "2", "", "", "", "", "", "", "", "", ""],
                    ["0", "0", nasty, "", "", "d", "step", "", "", "", "", "", "", ""],
                ])
        }
    }

    /// A combining character forms one character with the quote before it.
    @Test(arguments: [
        "\"", "\"\"", "a\"\"\"b\"", "{\"k\":\"\u{200C}abc\"}", "{\"k\":\"\u{301}\u{FE0F}\"}", "\u{600}\"\"",
        "\r\n\"\r\n",
    ])
    func whatIsQuotedIsReadAsItWas(text: String) {
        var quoted = TableText.quoted(text, delimiter: UInt8(ascii: ","))
        let unquoted = quoted.withUTF8 { TableText.unquoted(UnsafeRawBufferPointer($0)) }
        #expect(Array(unquoted.utf8) == Array(text.utf8))
    }

    /// A power cut leaves zeros, which must not be taken for a text.
    @Test(arguments: LogFormat.allCases)
    func noRecordHasAZeroByte(format: LogFormat) {
        let nasty = "a\0,b"
        var formatter = RecordFormatter(format: format, sensorType: nasty, fields: ["uptime", nasty])
        let timeline = SessionTimeline(task: nasty, step: "")
        let rows = formatter.text(packed: Rows(values: [[1, 2]]), timeline: timeline).text
        let marker = formatter.text(Marker(.step, time: 0, date: nasty, stepPath: nasty))
        let header = format == .json ? "" : formatter.header
        #expect(!(header + rows + marker).utf8.contains(0))
    }

    @Test func aTextThatNeedsNoQuotesHasNone() {
        let timeline = SessionTimeline(task: "a b'c;d\te", step: "")
        var csv = formatter(.csv)
        #expect(csv.text(packed: Rows(values: [[1, 2, 3, 4]]), timeline: timeline).text.contains(",a b'c;d\te,"))
    }

    @Test func columnsThatARecordHasAlreadyAreRenamed() throws {
        let formatter = formatter(.csv, fields: ["uptime", "timestamp", "x", "x", "uptime", "marker"])
        #expect(formatter.fields == ["timestamp_", "x", "x_", "uptime_", "marker_"])
    }

    /// A minimal reader of RFC 4180 tables.
    private static func parse(_ text: String, delimiter: Unicode.Scalar) -> [[String]] {
        var records: [[String]] = [[""]]
        var isQuoted = false
        let scalars = Array(text.unicodeScalars)
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            let last = records.count - 1
            let column = records[last].count - 1
            if isQuoted, scalar == "\"" {
                if index + 1 < scalars.count, scalars[index + 1] == "\"" {
                    records[last][column] += "\""
                    index += 1
                } else {
                    isQuoted = false
                }
            } else if isQuoted {
                records[last][column].unicodeScalars.append(scalar)
            } else if scalar == "\"" {
                isQuoted = true
            } else if scalar == delimiter {
                records[last].append("")
            } else if scalar == "\n" {
                records.append([""])
            } else {
                records[last][column].unicodeScalars.append(scalar)
            }
            index += 1
        }
        return records
    }

    // MARK: Steps and pauses

    @Test func eachRowGetsTheStepOfItsOwnTimeAndPausesAreLeftOut() throws {
        var timeline = SessionTimeline(task: "", step: "a")
        timeline.move(to: "b", at: 2 * second)
        timeline.pause(at: 4 * second)
        timeline.move(to: "c", at: 5 * second)
        timeline.resume(at: 6 * second)
        // Some are late or early: each row's step depends on its own time.
        let rows = Rows(values: [0, 1, 2, 3, 4, 5, 5.999999999, 6, 7, 1.999999999, 2].map { [100 + $0, 0, 0, 0] })
        let expected = ["a", "a", "b", "b", "c", "c", "a", "b"]
        for format in LogFormat.allCases {
            var formatter = formatter(format)
            let packed = formatter.text(packed: rows, timeline: timeline, origin: 100 * second)
            let json = try formatter.text(json: rows.json, count: 11, timeline: timeline, origin: 100 * second)
            #expect(packed.text == json.text)
            #expect(packed.result == json.result)
            #expect(packed.result.uptimes == [100, 101, 102, 103, 106, 107, 101.999999999, 102])
            #expect(packed.result.written == 8 && packed.result.paused == 3)
            #expect(packed.result.firstUptime == 100 && packed.result.lastUptime == 102)
            let steps = packed.text.split(separator: "\n").compactMap { line in
                line.firstMatch(of: /(?:"stepPath":"|[\d.]+[,\t][\d.]+[,\t])([a-c])/).map { String($0.1) }
            }
            #expect(steps == expected, "\(format)")
        }
    }

    @Test func changesOfTheTimelineReachTheNextBatch() {
        var timeline = SessionTimeline(task: "", step: "a")
        var formatter = formatter(.csv, fields: ["uptime"])
        #expect(formatter.text(packed: Rows(values: [[5]]), timeline: timeline).text.hasPrefix("\n5,5,a,"))
        timeline.move(to: "b", at: 6 * second)
        #expect(formatter.text(packed: Rows(values: [[5], [6]]), timeline: timeline).text.contains("\n6,6,b,"))
        timeline.pause(at: 7 * second)
        let result = formatter.text(packed: Rows(values: [[8]]), timeline: timeline)
        #expect(result.text.isEmpty)
        #expect(result.result.written == 0 && result.result.paused == 1)
        #expect(result.result.firstUptime == nil && result.result.lastUptime == nil)
    }

    @Test func timesThatAreNoneDoNotStopARecording() throws {
        var timeline = SessionTimeline(task: "", step: "a")
        timeline.move(to: "b", at: second)
        let rows = Rows(values: [.nan, .infinity, -.infinity, 1e300, 5e9, -5e9, 4e9].map { [$0, 0, 0, 0] })
        for format in LogFormat.allCases {
            var formatter = formatter(format)
            let packed = formatter.text(packed: rows, timeline: timeline, origin: second)
            #expect(packed.result.written == 7)
            #expect(
                try formatter.text(json: rows.json, count: 7, timeline: timeline, origin: second).text == packed.text)
        }
        var csv = formatter(.csv)
        #expect(
            csv.text(packed: rows, timeline: timeline).text.hasPrefix(
                "\nNaN,NaN,b,accelerometer,0,0,0,,,,,,,,,\nInfinity,NaN,b,"))
    }

    /// The result lists the places where rows follow others that were left out.
    @Test func placesAreWhereRowsFollowOnOnesThatWereLeftOut() throws {
        var timeline = SessionTimeline(task: "", step: "a")
        timeline.pause(at: 2 * second)
        timeline.resume(at: 4 * second)
        timeline.pause(at: 6 * second)
        timeline.resume(at: 7 * second)
        let rows = Rows(values: (0..<10).map { [Double($0), 0, 0, 0] })
        for format in LogFormat.allCases {
            var formatter = formatter(format)
            for range in [0..<10, 1..<10, 2..<8, 3..<7, 4..<6, 6..<7, 2..<2] {
                let packed = formatter.text(packed: rows, in: range, timeline: timeline)
                let json = try formatter.text(json: rows.json, count: 10, in: range, timeline: timeline)
                #expect(packed == json)
                // Rows 2, 3 and 6 are left out.
                let expected = [4, 7].filter { range.contains($0) && range.contains($0 - 1) }
                #expect(packed.result.places.map(\.row) == expected)
                #expect(packed.result.endsPaused == (!range.isEmpty && [2, 3, 6].contains(range.upperBound - 1)))
                for place in packed.result.places {
                    let before = formatter.text(packed: rows, in: range.lowerBound..<place.row, timeline: timeline)
                    #expect(place.written == before.result.written)
                    #expect(packed.text.hasPrefix(before.text))
                }
            }
        }
    }

    @Test func aResultKeepsItsUptimesWhenTheNextBatchIsFormatted() {
        var formatter = formatter(.csv)
        let results = (0..<3).map { batch in
            formatter.text(
                packed: Rows(values: (0..<5).map { [Double(5 * batch + $0), 0, 0, 0] }), timeline: timeline
            ).result
        }
        #expect(results.flatMap(\.uptimes) == (0..<15).map(Double.init))
    }

    @Test func batchAfterBatchUsesTheSameMemory() {
        var formatter = formatter(.csv)
        let rows = Rows(values: (0..<100).map { [Double($0), 0, 0, 0] })
        let addresses = (0..<5).map { _ in
            formatter.text(packed: rows, timeline: timeline).result.uptimes
                .withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(Set(addresses).count == 1)
    }

    // MARK: Parts of a batch

    @Test func partsOfABatchAreItsWhole() throws {
        let rows = Rows(values: (0..<7).map { [Double($0), 1, 2, 3] })
        for format in LogFormat.allCases {
            var formatter = formatter(format)
            let whole = formatter.text(packed: rows, timeline: timeline).text
            for cut in 0...7 {
                let parts = [0..<cut, cut..<7]
                let packed = parts.map { formatter.text(packed: rows, in: $0, timeline: timeline).text }
                let json = try parts.map {
                    try formatter.text(json: rows.json, count: 7, in: $0, timeline: timeline).text
                }
                #expect(packed.joined() == whole)
                #expect(json.joined() == whole)
            }
        }
    }

    @Test(arguments: [
        ("[[1,2,3,4],[1,2,3]]", 2), ("[[1,2,3,4],[1,2,3,4,5]]", 2), ("[[1,2,3,4],[1,2,3,\"x\"]]", 2),
        ("[[1,2,3,4],[1,2,3,4]", 2), ("[[1,2,3,4]]", 2), ("[[1,2,3,4],[1,2,3,4]]", 1), ("[]", 1),
    ])
    func aMalformedBatchLeavesNothing(values: String, count: Int) throws {
        var formatter = formatter(.json)
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: "before")
        let frame = Array(values.utf8)
        #expect(throws: MessageError.self) {
            // The fault may be outside the requested rows.
            try frame.withUnsafeBytes { frame in
                _ = try formatter.append(
                    values: 0..<frame.count, of: frame, count: count, rows: 0..<1, timeline: timeline, origin: 0,
                    to: &buffer)
            }
        }
        #expect(buffer.text == "before")
    }

    // MARK: Against a slow reference

    @Test(arguments: [UInt64(1), 20_261_121, UInt64.random(in: 0 ... .max)])
    func packedAndJSONRowsAgreeWithASlowReference(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for round in 0..<40 {
            let columns = Int.random(in: 1...9, using: &random)
            let count = Int.random(in: 0...12, using: &random)
            let origin = Int64.random(in: -second...1_000_000 * second, using: &random)
            var timeline = SessionTimeline(task: "Task \(round)", step: "sté/p \"1\"")
            timeline.move(to: "2", at: second)
            timeline.pause(at: 2 * second)
            timeline.resume(at: 3 * second)
            let rows = Rows(
                values: (0..<count).map { _ in
                    [Double(origin + Int64.random(in: 0...4 * second, using: &random)) / 1e9]
                        + (1..<columns).map { _ in Self.number(using: &random) }
                })
            let fields = ["uptime"] + (1..<columns).map { "field \($0)" }
            for format in LogFormat.allCases {
                let expected = rows.values.compactMap {
                    Self.reference($0, fields: fields, format: format, timeline: timeline, origin: origin)
                }.joined()
                var formatter = RecordFormatter(format: format, sensorType: "sensor", fields: fields)
                let offset = Int.random(in: 0..<8, using: &random)
                let packed = formatter.text(packed: rows, offset: offset, timeline: timeline, origin: origin)
                #expect(packed.text == expected, "seed \(seed)")
                let json = try formatter.text(json: rows.json, count: count, timeline: timeline, origin: origin)
                #expect(json.text == expected, "seed \(seed)")
                #expect(json.result == packed.result, "seed \(seed)")
                #expect(packed.result.written + packed.result.paused == count)
            }
        }
    }

    private static func number(using random: inout SplitMix) -> Double {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: Double(bitPattern: random.next())
        case 1: Double.random(in: -2...2, using: &random)
        case 2: (Double.random(in: -2...2, using: &random) * 1000).rounded() / 1000
        case 3: Double(Int.random(in: -5...5, using: &random))
        case 4:
            [0, -0.0, .nan, .infinity, -.infinity, 1e16, 1e-5, .leastNonzeroMagnitude][
                Int.random(in: 0..<8, using: &random)]
        default: Double.random(in: -1e9...1e9, using: &random)
        }
    }

    private static func reference(
        _ row: [Double], fields: [String], format: LogFormat, timeline: SessionTimeline, origin: Int64
    ) -> String? {
        let time = Int64((row[0] * 1e9).rounded()) - origin
        let state = timeline.state(at: time)
        if state.isPaused { return nil }
        let numbers = [row[0], Double(time) / 1e9] + row.dropFirst()
        let names = ["uptime", "timestamp"] + fields.dropFirst()
        if format == .json {
            let pairs = zip(names, numbers).map { "\(quoted($0)):\($1.isFinite ? encoded($1) : quoted(word($1)))" }
            let texts = ["\"stepPath\":\(quoted(state.stepPath))", "\"sensorType\":\"sensor\""]
            return ",\n{" + (pairs[..<2] + texts + pairs[2...]).joined(separator: ",") + "}"
        }
        let delimiter = format == .csv ? "," : "\t"
        let texts = numbers.map { $0.isFinite ? encoded($0) : word($0) }
        let path = "\"" + state.stepPath.replacing("\"", with: "\"\"") + "\""
        let stepPath = state.stepPath.contains("\"") ? path : state.stepPath
        return "\n"
            + (texts[..<2] + [stepPath, "sensor"] + texts[2...] + [String](repeating: "", count: 9)).joined(
                separator: delimiter)
    }

    private static func encoded(_ number: Double) -> String {
        String(decoding: (try? JSONEncoder().encode(number)) ?? Data(), as: UTF8.self)
    }

    private static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: (try? encoder.encode(text)) ?? Data(), as: UTF8.self)
    }
}
