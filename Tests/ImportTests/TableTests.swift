import Files
import Foundation
import Import
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Tables and exports of Sensor Logger: each cell exact to the digit, each time to the nanosecond.
@Suite struct TableTests {
    private static func imported(
        _ name: String, _ text: String, in directory: FilePath,
        _ change: (inout SessionImport.Options) -> Void = { _ in }
    ) throws -> Imported {
        try Imported(name, Array(text.utf8), in: directory, change)
    }

    // MARK: Times

    @Test(arguments: [
        "2026-11-21T10:00:00.5Z", "2026-11-21 10:00:00.5", "2026-11-21T11:00:00.500+01:00", "1795255200.5",
        "1795255200500", "1795255200500000", "1795255200500000000",
    ])
    func everyFormOfTimeIsRead(_ time: String) throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported("a.csv", "time,x,y,z\n\(time),1,2,3\n", in: directory)
            #expect(imported.record.startDate.utcText == "2026-11-21T10:00:00.500000Z")
            #expect(try imported.rows() == [["0", "1", "2", "3"]])
            #expect(imported.verdict == .whole)
        }
    }

    @Test func nanosecondsStayWhatTheyAre() throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported(
                "a.csv", "time,x\n1698501144401773123,1\n1698501144411773456,2\n", in: directory)
            #expect(imported.record.startDate.utcText == "2023-10-28T13:52:24.401773Z")
            let times = try imported.rows().map { Double($0[0]) }
            #expect(times == [1.23e-7, 0.010000456])
        }
    }

    @Test func secondsNeedADate() throws {
        try withTemporaryDirectory { directory in
            let text = "t,x,y,z\n-0.5,1,2,3\n0.25,4,5,6\n"
            let error = #expect(throws: RecordingError.self) { try Self.imported("a.csv", text, in: directory) }
            #expect(error?.advice.contains("--start") == true)
            let imported = try Self.imported("a.csv", text, in: directory) {
                $0.start = try? WallTime(iso8601: "2026-11-21T10:00:00Z")
                $0.unit = "m/s2"
            }
            #expect(imported.record.startDate.utcText == "2026-11-21T09:59:59.500000Z")
            #expect(try imported.rows() == [["0", "1", "2", "3"], ["0.75", "4", "5", "6"]])
            #expect(imported.record.logs[0].stream == "accelerometer")
            #expect(imported.record.logs[0].device == "a")
            #expect(imported.record.logs[0].unit == "m/s2")
        }
    }

    /// `SensorEvent.timestamp` of Android is in nanoseconds since the start of the phone; `millis()` counts from that of a board.
    @Test(arguments: [
        ("3925657519043709", "2094-05-25"), ("123456789", "1973-11-29"), ("946684799", "1999-12-31"),
        ("2145916800000", "2038-01-01"), ("9999999999", "after 2261"),
    ])
    func aCounterIsNoDate(_ time: String, _ date: String) throws {
        try withTemporaryDirectory { directory in
            let begin = try WallTime(iso8601: "2026-11-21T10:00:00Z")
            for start in [nil, begin] {
                let error = #expect(throws: RecordingError.self) {
                    try Self.imported("a.csv", "time,x\n\(time),1\n", in: directory) { $0.start = start }
                }
                #expect(error?.description.contains("\"\(time)\", would be \(date). If it is a counter") == true)
                #expect(error?.advice.contains("--start") == true)
            }
        }
    }

    @Test(arguments: [
        ("946684800", "2000-01-01T00:00:00.000000Z"), ("2145916799999", "2037-12-31T23:59:59.999000Z"),
        ("1998-11-21T10:00:08Z", "1998-11-21T10:00:08.000000Z"),
    ])
    func numbersAreDatesFrom2000To2037(_ time: String, _ date: String) throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported("a.csv", "time,x\n\(time),1\n", in: directory)
            #expect(imported.record.startDate.utcText == date)
        }
    }

    @Test(arguments: ["1795255200", "1795255200000000000", "2026-11-21T10:00:00Z"])
    func aDateNeedsNoStart(_ time: String) throws {
        try withTemporaryDirectory { directory in
            let begin = try WallTime(iso8601: "2026-11-21T10:00:00Z")
            let error = #expect(throws: RecordingError.self) {
                try Self.imported("a.csv", "time,x\n\(time),1\n", in: directory) { $0.start = begin }
            }
            #expect(error?.description.contains("its times are dates already, and --start is for seconds") == true)
            #expect(error?.advice.contains("Leave --start out") == true)
        }
    }

    /// Other tables of an export may need the start.
    @Test func aStartIsForOneOfTheTablesAtLeast() throws {
        try withTemporaryDirectory { directory in
            let begin = try WallTime(iso8601: "2026-11-21T10:00:00Z")
            let dated = ("Gyroscope.csv", Self.table("x", "1795255200000000000,0,1"))
            let error = #expect(throws: RecordingError.self) {
                try Imported("a.zip", StoredZip([dated]).bytes, in: directory) { $0.start = begin }
            }
            #expect(error?.code == .invalidParameter)
            let both = StoredZip([dated, ("Labels.csv", Array("time,x\n5,1\n".utf8))])
            let imported = try Imported("b.zip", both.bytes, in: directory) { $0.start = begin }
            #expect(imported.record.logs.count == 2)
        }
    }

    @Test func datesWithoutAZoneAreInTheOneThatIsGiven() throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported("a.csv", "time,x\n2026-11-21 10:00:00,1\n", in: directory) {
                $0.zone = 3600
            }
            #expect(imported.record.startDate.utcText == "2026-11-21T09:00:00.000000Z")
        }
    }

    @Test func theColumnOfTheTimesCanBeNamed() throws {
        try withTemporaryDirectory { directory in
            let text = "clock,time,x\n2026-11-21T10:00:00Z,5,1\n"
            let imported = try Self.imported("a.csv", text, in: directory) { $0.time = "clock" }
            #expect(imported.record.logs[0].fields == ["uptime", "time", "x"])
            #expect(throws: RecordingError.self) {
                try Self.imported("b.csv", text, in: directory) { $0.time = "when" }
            }
            #expect(throws: RecordingError.self) { try Self.imported("c.csv", "a,b\nx,1\n", in: directory) }
        }
    }

    // MARK: Cells

    @Test func digitsStayAndOtherSpellingsBecomeNumbers() throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported(
                "a.csv", "time,x,y,z\n1795255200,0.10,-1e-7,12345678901234567890\n1795255201,+.5,nan,\n",
                in: directory)
            #expect(imported.record.logs[0].types == nil)
            #expect(imported.record.endDate?.utcText == "2026-11-21T10:00:01.000000Z")
            #expect(
                try imported.rows() == [
                    ["0", "0.10", "-1e-7", "12345678901234567890"], ["1", "0.5", "\"NaN\"", "null"],
                ])
            #expect(imported.verdict == .whole)
        }
    }

    @Test func blanksBesideSeparatorsArePartOfTextsAlone() throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported(
                "a.csv",
                "time, x, y, isMoving, label\n1795255200, 0.01, 0.97 , true, a b \n1795255201, , +.5,FALSE , c\n",
                in: directory)
            #expect(imported.record.logs[0].types == [.number, .number, .number, .boolean, .text])
            #expect(
                try imported.rows() == [
                    ["0", "0.01", "0.97", "true", "\" a b \""], ["1", "null", "0.5", "false", "\" c\""],
                ])
            let last = try Self.imported("b.csv", "x, time\n0.01, 1795255200\n0.02, 1795255201 \n", in: directory)
            #expect(last.record.logs[0].types == nil)
            #expect(try last.rows() == [["0", "0.01"], ["1", "0.02"]])
            #expect(last.verdict == .whole)
        }
    }

    @Test(arguments: [",", ";", "\t"])
    func textAndBooleansHaveTheirTypes(_ separator: String) throws {
        try withTemporaryDirectory { directory in
            let rows = [
                ["time", "label", "isMoving", "n"],
                ["1795255200", "\"say \"\"hi\"\"\(separator)\nthen go\"", "true", "1"],
                ["1795255201", "\"\"", "FALSE", ""],
                ["1795255202", "", "", "3"],
            ]
            let text = "\u{FEFF}" + rows.map { $0.joined(separator: separator) }.joined(separator: "\r\n")
            let imported = try Self.imported("a.csv", text, in: directory)
            #expect(imported.record.logs[0].types == [.number, .text, .boolean, .number])
            #expect(imported.record.logs[0].stream == "samples")
            let between = separator == "\t" ? "\\t" : separator
            let label = "\"say \\\"hi\\\"\(between)\\nthen go\""
            #expect(
                try imported.rows() == [
                    ["0", label, "true", "1"], ["1", "\"\"", "false", "null"], ["2", "null", "null", "3"],
                ])
            #expect(imported.verdict == .whole)
        }
    }

    @Test func rowsThatCannotBeReadAreGaps() throws {
        try withTemporaryDirectory { directory in
            let long = String(repeating: "9", count: 2 << 20)
            let imported = try Self.imported(
                "a.csv", "time,x\n1795255200,1\n1795255201\nnever,5\n1795255203,4\n\(long)\n1795255202,3\n\"",
                in: directory)
            #expect(try imported.rows() == [["0", "1"], ["3", "4"], ["2", "3"]])
            let log = imported.record.logs[0]
            #expect(log.gaps.map(\.count) == [2, 1, 1])
            #expect(log.gaps.allSatisfy { $0.reason == .malformed })
            #expect(log.gaps.map(\.from) == [1, 4, 6])
            #expect(
                imported.record.failures == [
                    "4 rows can't be read; the first: row 2, it has 1 cells, and the header has 2",
                    "1 rows go back in time",
                ])
            #expect(imported.verdict == .loss)
        }
    }

    /// An unterminated quote loses only its own row, at the table's end as in its middle.
    @Test(arguments: [300, 6_000]) func aQuoteThatDoesNotEndCostsOneRow(count: Int) throws {
        try withTemporaryDirectory { directory in
            let rows = (1...count).map { "\(1_795_255_200 + $0),\($0 == 100 ? "\"" : "")\($0)\n" }
            let imported = try Self.imported("a.csv", "time,x\n" + rows.joined(), in: directory)
            let values = try imported.rows().map { $0[1] }
            #expect(values == (1...count).filter { $0 != 100 }.map { "\($0)" })
            let log = imported.record.logs[0]
            #expect(log.gaps.map(\.from) == [99])
            #expect(log.gaps.map(\.count) == [1])
            #expect(imported.record.failures == ["1 rows can't be read; the first: row 100, its quotes do not end"])
        }
    }

    /// In a stream file in JSON, each record has the names of all columns.
    @Test func aColumnWithALongNameIsRefused() throws {
        try withTemporaryDirectory { directory in
            func table(_ length: Int) -> String { "time,\(String(repeating: "a", count: length))\n1795255200,1\n" }
            _ = try Self.imported("a.csv", table(256), in: directory)
            for length in [257, 1_000_000] {
                let error = #expect(throws: RecordingError.self) {
                    try Self.imported("b.csv", table(length), in: directory)
                }
                #expect(error?.description.contains("more than 256 bytes") == true)
            }
        }
    }

    @Test func moreThanAThousandColumnsAreRefused() throws {
        try withTemporaryDirectory { directory in
            func object(_ numbers: Range<Int>) -> String {
                "{\"time\":\"1795255200\"," + numbers.map { "\"c\($0)\":1" }.joined(separator: ",") + "}"
            }
            _ = try Self.imported("a.json", "[\(object(0..<500)),\(object(500..<1_000))]", in: directory)
            for objects in ["\(object(0..<500)),\(object(500..<1_001))", object(0..<1_001)] {
                let error = #expect(throws: RecordingError.self) {
                    try Self.imported("b.json", "[\(objects)]", in: directory)
                }
                #expect(error?.description.contains("more than 1000 columns") == true)
            }
        }
    }

    @Test func aTimeThatNobodyMeansIsAGap() throws {
        try withTemporaryDirectory { directory in
            let text =
                "time,x\n1795255200500000000,1\n9223372036854775807,2\n-9223372036854775807,3\n1795255200600000000,4\n"
            let imported = try Self.imported("a.csv", text, in: directory)
            #expect(try imported.rows().map { $0[1] } == ["1", "4"])
            #expect(imported.record.logs[0].gaps.map(\.count) == [2])
        }
    }

    @Test func aCompressedTableIsTheSame() throws {
        try withTemporaryDirectory { directory in
            let text = Array("time,x\n1795255200,1\n".utf8)
            let imported = try Imported("a.csv.gz", gzipStored(text), in: directory)
            #expect(try imported.rows() == [["0", "1"]])
            #expect(imported.outcome.session.text == "a")
        }
    }

    // MARK: Sensor Logger

    private static let metadata = """
        device name,recording epoch time,recording time,platform,standardisation
        Phone,1795255200000,2026-11-21_10-00-00,ios,false

        """

    /// A table of the export.
    private static func table(_ fields: String, _ rows: String...) -> [UInt8] {
        Array((["time,seconds_elapsed,\(fields)"] + rows).map { $0 + "\n" }.joined().utf8)
    }

    @Test func anExportAsTablesHasAStreamForEach() throws {
        try withTemporaryDirectory { directory in
            let zip = StoredZip([
                ("Metadata.csv", Array(Self.metadata.utf8)),
                (
                    "Accelerometer.csv",
                    Self.table("z,y,x", "1795255200010000001,0.01,-0.1,0.2,0.3", "1795255200020000001,0.02,1,2,3")
                ),
                ("TotalAcceleration.csv", Self.table("z,y,x", "1795255200005000000,0.005,9.8,0,0")),
                ("AccelerometerUncalibrated.csv", Self.table("z,y,x", "1795255200005000000,0.005,-1,0,0")),
                (
                    "Annotation.csv",
                    Self.table("text,millisecond_press_duration", "1795255201000000000,1,\"sit, stand\",5")
                ),
                ("Gyroscope.csv", Self.table("z,y,x")),
                ("Camera/1.jpg", [1, 2, 3]), ("StudyMetadata.csv", Array("name,value\nsite,A\n".utf8)),
            ])
            let imported = try Imported("2026-11-21.zip", zip.bytes, in: directory)
            #expect(
                imported.record.logs.map { "\($0.device)/\($0.stream) \($0.unit ?? "-")" } == [
                    "phone/userAcceleration m/s2", "phone/accelerometer m/s2", "phone/accelerometerUncalibrated g",
                    "phone/annotation -",
                ])
            #expect(imported.record.startDate.utcText == "2026-11-21T10:00:00.005000Z")
            let rows = [["0.005000001", "-0.1", "0.2", "0.3"], ["0.015000001", "1", "2", "3"]]
            #expect(try imported.rows(of: 0) == rows)
            #expect(try imported.rows(of: 3) == [["0.995", "\"sit, stand\"", "5"]])
            #expect(Set(imported.outcome.leftOut) == ["Camera/1.jpg", "Gyroscope.csv", "StudyMetadata.csv"])
            #expect(imported.verdict == .whole)
            guard case .object(let keys)? = imported.record.otherKeys["import"],
                case .object(let source)? = keys["source"]
            else { throw TestFailure("no keys") }
            #expect(source["platform"] == .string("ios"))
            #expect(keys["kind"] == .string("sensor-logger"))
        }
    }

    /// All values are texts; the sensors' objects are interleaved.
    @Test(arguments: [true, false])
    func anExportAsJSONHasAStreamForEachSensor(zipped isZipped: Bool) throws {
        try withTemporaryDirectory { directory in
            let text = """
                [{"sensor":"Metadata","platform":"android","standardisation":"false"},
                {"sensor":"TotalAcceleration","time":"1795255200010000000","seconds_elapsed":"0.01",
                "x":"0.10","y":"-1","z":"9.81"},
                {"sensor":"Location","time":"1795255200000000000","latitude":"52.5","extra":{"a":[1, 2]}},
                {"time":"1795255200020000000","sensor":"TotalAcceleration","seconds_elapsed":"0.02","z":"9","y":"8","x":"7"},
                {"sensor":"Annotation","time":"1795255200030000000","text":"a \\"fall\\" }{"}]
                """
            let bytes = isZipped ? StoredZip([("export.json", Array(text.utf8))]).bytes : Array(text.utf8)
            let imported = try Imported(isZipped ? "a.zip" : "a.json", bytes, in: directory)
            #expect(imported.record.logs.map(\.stream) == ["accelerometer", "location", "annotation"])
            #expect(imported.record.logs.map(\.unit) == ["m/s2", nil, nil])
            #expect(try imported.rows(of: 0) == [["0.01", "0.10", "-1", "9.81"], ["0.02", "7", "8", "9"]])
            #expect(try imported.rows(of: 1) == [["0", "52.5", "{\"a\":[1,2]}"]])
            #expect(try imported.rows(of: 2) == [["0.03", "\"a \\\"fall\\\" }{\""]])
            #expect(imported.record.logs[1].types == [.number, .number, .json])
            #expect(imported.verdict == .whole)
        }
    }

    @Test func anExportThatEndsEarlySaysSo() throws {
        try withTemporaryDirectory { directory in
            let imported = try Self.imported(
                "a.json", #"[{"sensor":"Gyroscope","time":"1795255200000000000","x":"1"},{"sensor":"Gyr"#, in: directory
            )
            #expect(imported.record.failures == ["1 objects can't be read"])
            #expect(imported.verdict == .loss)
        }
    }
}
