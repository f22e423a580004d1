import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Files of streams of records, whose values are not all numbers.
@Suite(.timeLimit(.minutes(5)))
struct RecordStreamTests {
    private static let fields = ["uptime", "label", "lat", "ok", "at", "touches", "rate"]
    private static let types: [FieldType] = [.number, .text, .number, .boolean, .date, .json, .json]
    /// Rows as received from a publisher.
    private static let rows = [
        #"[1.50,"walk, then \"run\"",52.250,true,"2026-11-21T00:00:00Z",[{"x": 1, "phase":"began"}],null]"#,
        #"[1.51,"",1152921504606846977,false,null,{},5]"#,
        #"[1.52,null,"NaN",null,"2026-11-21","a\tb\nc\r\u0000😀\u00e9",{"a b":[ " ","\\\"" ]}]"#,
        #"[1.53,"]},[\u0000é\n","Infinity",true,"","[1,2]",1e-05]"#,
    ]

    private func formatter(_ format: LogFormat) -> RecordFormatter {
        RecordFormatter(format: format, sensorType: "events", fields: Self.fields, types: Self.types)
    }

    private func text(_ format: LogFormat, _ rows: [String] = rows) throws -> String {
        var formatter = formatter(format)
        return try formatter.text(
            json: Array("[\(rows.joined(separator: ","))]".utf8), count: rows.count,
            timeline: SessionTimeline(task: "Task", step: "")
        ).text
    }

    /// The log's description, as in its start marker.
    private var description: SessionRecord.Log {
        SessionRecord.Log(
            name: LogName("phone_events"), device: "phone", stream: "events", fields: Self.fields, types: Self.types,
            rate: 100)
    }

    private func marker(_ format: LogFormat) -> String {
        formatter(format).text(
            Marker(
                .start, time: 0, date: "2026-11-21T02:55:01.123Z", stepPath: "Task", description: description,
                position: Marker.Position(epoch: "E", next: 0)))
    }

    // MARK: Bytes

    @Test func jsonPassesValuesOnInOneLineEach() throws {
        #expect(
            try text(.json) == #"""
                ,
                {"uptime":1.50,"timestamp":1.5,"stepPath":"Task","sensorType":"events",\#
                "label":"walk, then \"run\"","lat":52.250,"ok":true,"at":"2026-11-21T00:00:00Z",\#
                "touches":[{"x":1,"phase":"began"}],"rate_":null},
                {"uptime":1.51,"timestamp":1.51,"stepPath":"Task","sensorType":"events",\#
                "label":"","lat":1152921504606846977,"ok":false,"at":null,"touches":{},"rate_":5},
                {"uptime":1.52,"timestamp":1.52,"stepPath":"Task","sensorType":"events",\#
                "label":null,"lat":"NaN","ok":null,"at":"2026-11-21","touches":"a\tb\nc\r\u0000😀\u00e9","rate_":{"a b":[" ","\\\""]}},
                {"uptime":1.53,"timestamp":1.53,"stepPath":"Task","sensorType":"events",\#
                "label":"]},[\u0000é\n","lat":"Infinity","ok":true,"at":"","touches":"[1,2]","rate_":1e-05}
                """#)
        #expect(marker(.json).hasSuffix(#""device":"phone","rate":100,"types":"text number boolean date json json"}"#))
    }

    @Test func tablesHaveTextWithoutEscapesAndTellEmptyTextFromNull() throws {
        #expect(formatter(.csv).header.hasSuffix("reason,device,unit,rate,types"))
        let rest = ",,,,,,,,,,"
        #expect(
            try text(.csv) == #"""

                1.50,1.5,Task,events,"walk, then ""run""",52.250,true,2026-11-21T00:00:00Z,\#
                "[{""x"":1,""phase"":""began""}]",\#(rest)
                1.51,1.51,Task,events,"",1152921504606846977,false,,{},5\#(rest)
                1.52,1.52,Task,events,,NaN,,2026-11-21,"""a\tb\nc\r\u0000😀\u00e9""",\#
                "{""a b"":["" "",""\\\""""]}"\#(rest)
                1.53,1.53,Task,events,"]},[\#u{FFFD}é\#n",Infinity,true,"","""[1,2]""",1e-05\#(rest)
                """#)
        #expect(marker(.csv).hasSuffix(",phone,,100,text number boolean date json json"))
    }

    /// An independent parser reads what was published, in every format.
    @Test func tabsAndCommasAreQuotedWhereTheySeparate() throws {
        let rows = [#"[1,"a,b\tc",1,true,"","x",0]"#]
        #expect(try text(.csv, rows).contains("events,\"a,b\tc\",1"))
        #expect(try text(.tsv, rows).contains("events\t\"a,b\tc\"\t1"))
        #expect(try text(.tsv, [#"[1,"a,b",1,true,"","x",0]"#]).contains("events\ta,b\t1"))
    }

    @Test func rowsThatAreNotWhatTheTypesSayWriteNothing() throws {
        var formatter = formatter(.json)
        let rows = Self.rows + [#"[1.54,5,1,true,"","x",0]"#]
        let json = Array("[\(rows.joined(separator: ","))]".utf8)
        var buffer = ByteBuffer(capacity: 0)
        #expect(throws: MessageError.self) {
            try json.withUnsafeBytes { frame in
                _ = try formatter.append(
                    values: 0..<frame.count, of: frame, count: 5, rows: 0..<5,
                    timeline: SessionTimeline(task: "", step: ""), origin: 0, to: &buffer)
            }
        }
        #expect(buffer.count == 0)
    }

    // MARK: Files

    private func withLog(_ format: LogFormat, _ body: (FilePath, [UInt8]) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let file = try LogFile(
                creating: LogName("walk"), in: directory, format: format, root: .array, startDate: "",
                header: formatter(format).header)
            var buffer = ByteBuffer(capacity: 0)
            buffer.append(utf8: marker(format))
            buffer.append(utf8: try text(format))
            try file.append(&buffer, samples: 4)
            try body(file.path, Array(try Data(contentsOf: URL(filePath: file.path.string))))
        }
    }

    private func scan(_ path: FilePath, _ format: LogFormat) throws -> (records: [LogRecord], isClean: Bool) {
        var scanner = try LogScanner(path, format: format, root: .array)
        var records: [LogRecord] = []
        while try scanner.next() != nil { records.append(scanner.record) }
        return (records, scanner.isClean)
    }

    @Test(arguments: LogFormat.allCases)
    func aFileIsReadBackWithItsTypes(format: LogFormat) throws {
        try withLog(format) { path, _ in
            let (records, isClean) = try scan(path, format)
            #expect(isClean)
            #expect(records.count == 5)
            #expect(records[0]["types"] == "text number boolean date json json")
            #expect(records[1]["label"] == "walk, then \"run\"")
            #expect(records[2]["lat"] == "1152921504606846977")
            #expect(records[3]["label"] == nil)
            #expect(records[3]["rate_"] == #"{"a b":[" ","\\\""]}"#)
            #expect(records[4]["touches"] == (format == .json ? "[1,2]" : "\"[1,2]\""), "any value says what it is")
            var scanner = try LogScanner(path, format: format, root: .array)
            _ = try scanner.next()
            _ = try scanner.next()
            let (types, names) = (scanner.types, scanner.ownColumns)
            #expect(types == Array(Self.types.dropFirst()))
            #expect(names == ["label", "lat", "ok", "at", "touches", "rate_"])
        }
    }

    @Test(arguments: LogFormat.allCases)
    func ofAFileCutAnywhereTheWholeRecordsAreFound(format: LogFormat) throws {
        try withLog(format) { path, bytes in
            var ends: [Int] = []
            var scanner = try LogScanner(path, format: format, root: .array)
            while try scanner.next() != nil { ends.append(scanner.end) }
            for length in 0..<bytes.count {
                try Data(bytes[..<length]).write(to: URL(filePath: path.string))
                var cut = try LogScanner(path, format: format, root: .array)
                var found: [Int] = []
                while let record = try cut.next() {
                    // Only the description in a table may have been longer than it looks.
                    if record.isProven { found.append(cut.end) }
                }
                let whole = ends.filter { $0 <= length }
                #expect(found == (format == .json ? whole : Array(whole.dropFirst())), "\(length)")
            }
        }
    }

    @Test(arguments: [
        (LogFormat.json, #""lat":52.250"#, #""lat":"52.25""#), (.json, #""ok":true"#, #""ok":"ok""#),
        (.json, #""label":"""#, #""label":1"#), (.json, #","rate_":null"#, ""),
        (.json, #","rate_":null"#, #","rate_":null,"more":1"#), (.csv, "52.250", "52,250"), (.csv, "52.250", "5z.250"),
        (.csv, "true", "tru"), (.tsv, "52.250", "x"), (.tsv, "false", "falsch"),
    ])
    func aValueThatItsColumnCannotHaveIsDamage(format: LogFormat, value: String, damage: String) throws {
        try withLog(format) { path, bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let range = try #require(text.firstRange(of: value))
            try Data(text.replacingCharacters(in: range, with: damage).utf8).write(to: URL(filePath: path.string))
            let (records, isClean) = try scan(path, format)
            #expect(!isClean)
            #expect(records.count < 5)
        }
    }

    // MARK: The ancestors' cases, with their label

    private static let labelled = ["uptime", "x", "y", "z", "label"]
    private static let date = "2017-10-16T22:28:09.000-07:00"

    /// SEEDS cases 28 to 31: a marker, two samples, a marker, a sample.
    private func withLabelledLog(_ format: LogFormat, _ root: JSONRoot, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            var formatter = RecordFormatter(
                format: format, sensorType: "walk", fields: Self.labelled,
                types: [.number, .number, .number, .number, .text])
            let file = try LogFile(
                creating: LogName("walk"), in: directory, format: format, root: root, startDate: Self.date,
                header: formatter.header)
            var timeline = SessionTimeline(task: "Task", step: "step1")
            var buffer = ByteBuffer(capacity: 0)
            buffer.append(utf8: formatter.text(Marker(.start, time: 0, date: Self.date, stepPath: "Task/step1")))
            let first = #"[[0.01,1.2,3.4,5.6,"booRa"],[0.02,1,0,-1,"booRb"]]"#
            buffer.append(utf8: try formatter.text(json: Array(first.utf8), count: 2, timeline: timeline).text)
            timeline.move(to: "step2", at: 30_000_000)
            buffer.append(
                utf8: formatter.text(Marker(.step, time: 30_000_000, date: Self.date, stepPath: "Task/step2")))
            let last = #"[[0.04,2,3,4,"booRc"]]"#
            buffer.append(utf8: try formatter.text(json: Array(last.utf8), count: 1, timeline: timeline).text)
            try file.append(&buffer, samples: 3)
            try body(String(decoding: Data(contentsOf: URL(filePath: file.path.string)), as: UTF8.self))
        }
    }

    private struct Item: Decodable, Equatable {
        var uptime: Double
        var stepPath: String
        var timestampDate: String?
        var x: Double?
        var y: Double?
        var z: Double?
        var label: String?
    }

    private struct Root: Decodable {
        var startDate: String
        var items: [Item]
    }

    private static let items = [
        Item(uptime: 0, stepPath: "Task/step1", timestampDate: date),
        Item(uptime: 0.01, stepPath: "Task/step1", x: 1.2, y: 3.4, z: 5.6, label: "booRa"),
        Item(uptime: 0.02, stepPath: "Task/step1", x: 1, y: 0, z: -1, label: "booRb"),
        Item(uptime: 0.03, stepPath: "Task/step2", timestampDate: date),
        Item(uptime: 0.04, stepPath: "Task/step2", x: 2, y: 3, z: 4, label: "booRc"),
    ]

    @Test func case28RootDictionaryHasItsFiveItemsWithTheirLabels() throws {
        try withLabelledLog(.json, .dictionary) { text in
            let root = try JSONDecoder().decode(Root.self, from: Data(text.utf8))
            #expect(root.startDate == Self.date)
            #expect(root.items == Self.items)
        }
    }

    @Test func case29RootArrayHasItsFiveItemsWithTheirLabels() throws {
        try withLabelledLog(.json, .array) { text in
            let items = try JSONDecoder().decode([Item].self, from: Data(text.utf8))
            #expect(items == Self.items)
        }
    }

    @Test(arguments: [(LogFormat.csv, Character(",")), (.tsv, "\t")])
    func case30And31ATableHasSixLinesWithALabelColumn(format: LogFormat, delimiter: Character) throws {
        try withLabelledLog(format, .array) { text in
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 6)
            let rows = lines.map { $0.split(separator: delimiter, omittingEmptySubsequences: false).map(String.init) }
            #expect(rows.allSatisfy { $0.count == rows[0].count })
            let places = ["uptime", "stepPath", "x", "y", "z", "label"].compactMap { rows[0].firstIndex(of: $0) }
            #expect(places.map { rows[1][$0] } == ["0", "Task/step1", "", "", "", ""])
            #expect(places.map { rows[2][$0] } == ["0.01", "Task/step1", "1.2", "3.4", "5.6", "booRa"])
        }
    }
}
