import SampleSources
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LineParserTests {
    private func parse(_ parser: inout LineParser, _ line: String) throws -> (LineParser.Line, [Double]) {
        var row: [Double] = [42]
        let parsed = try parser.parse(Array(line.utf8).span, into: &row)
        #expect(row.first == 42)
        return (parsed, Array(row.dropFirst()))
    }

    private func problem(_ parser: inout LineParser, _ line: String) -> String {
        var row: [Double] = [42]
        let error = #expect(throws: PublisherError.self) { try parser.parse(Array(line.utf8).span, into: &row) }
        #expect(row == [42], "a bad line leaves nothing behind")
        return error?.message ?? ""
    }

    @Test func columnsMayComeInAnyOrder() throws {
        var parser = LineParser(format: .csv)
        #expect(try parse(&parser, "\u{FEFF}label, \"z\" ,Time,heart rate,y,x").0 == .nothing)
        let (line, values) = try parse(&parser, "\"a, b\",3, \"0.25\",61, 2 ,1")
        #expect(parser.fields == ["x", "y", "z", "heart rate"])
        #expect(parser.leftOut == ["label"])
        #expect(line == .sample(time: 250_000_000))
        #expect(values == [1, 2, 3, 61])
        #expect(try parse(&parser, "  ").0 == .nothing)
        #expect(try parse(&parser, "c,3,1,nan,2,1").1[3].isNaN)
    }

    @Test func anInputsUptimeAndNamelessColumnsAreLeftOut() throws {
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, ",uptime,x")
        let (line, values) = try parse(&parser, "0,5,1")
        #expect(line == .sample(time: nil))
        #expect(values == [1])
        #expect(parser.leftOut == ["", "uptime"])
    }

    @Test func timesMayBeNanosecondsSince1970() throws {
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, "time,x")
        #expect(try parse(&parser, "1698501144401773001,1").0 == .sample(time: 1_698_501_144_401_773_001))
        #expect(try parse(&parser, "1698501144,1").0 == .sample(time: 1_698_501_144_000_000_000))
        #expect(problem(&parser, "9223372036854775807,1").contains("is not a time"))
        var objects = LineParser(format: .ndjson)
        let line = try parse(&objects, #"{"timestamp": 1698501144401773001, "x": 1}"#)
        #expect(line.0 == .sample(time: 1_698_501_144_401_773_001) && line.1 == [1])
        #expect(
            try parse(&objects, #"{"timestamp": 1698501144, "x": 1}"#).0 == .sample(time: 1_698_501_144_000_000_000))
        #expect(problem(&objects, #"{"timestamp": 9223372036854775807, "x": 1}"#).contains("is not a time"))
        var arrays = LineParser(format: .ndjson)
        #expect(try parse(&arrays, "[1698501144401773003, 1]").0 == .sample(time: 1_698_501_144_401_773_003))
        var records = LineParser(format: .ndjson)
        let record = try parse(&records, #"{"time": 1698501144401773005, "label": "walk"}"#)
        #expect(record.0 == .sample(time: 1_698_501_144_401_773_005))
    }

    /// A time is read from its digits, not through the nearest `Double`.
    @Test(
        arguments: [
            ("0", 0), ("1", 1_000_000_000), ("-0.25", -250_000_000), ("0.0000000005", 1), ("0.0000000004", 0),
            ("-0.0000000005", -1), ("1698501144.401773001", 1_698_501_144_401_773_001),
            ("99999999999999999", nil), ("100000000000000000", 100_000_000_000_000_000),
            ("4000000000", 4_000_000_000_000_000_000),
            ("4000000001", nil), ("1e3", 1_000_000_000_000), ("0.10000000000000000555", 100_000_000),
            ("+1.5", 1_500_000_000),
            (".5", 500_000_000), ("", nil), ("x", nil), ("1.2.3", nil), ("-", nil),
        ] as [(String, Int64?)]) func aTimeIsItsDigits(text: String, time: Int64?)
    {
        #expect(Array(text.utf8).withUnsafeBytes { Nanoseconds.from(text: $0) } == time)
    }

    /// Sensor Logger's exports have both columns, while other programs have a field called time.
    @Test func aTimeBesideTheSecondsElapsedIsNoField() throws {
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, "time,seconds_elapsed,z,y,x")
        let (line, values) = try parse(&parser, "1698501144401773000,-0.25,3,2,1")
        #expect(line == .sample(time: -250_000_000) && values == [1, 2, 3])
        #expect(parser.fields == ["x", "y", "z"] && parser.leftOut == ["time"])
        var objects = LineParser(format: .ndjson)
        #expect(try parse(&objects, #"{"time": 1698501144401773000, "seconds_elapsed": 2, "x": 1}"#).1 == [1])
        #expect(objects.fields == ["x"])
    }

    /// A table that the recorder exported has the column `time`, and the stream's fields may have any name.
    @Test func aFieldBesideTheTimeIsNoTime() throws {
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, "time,T,H")
        let (line, values) = try parse(&parser, "0.5,25,40")
        #expect(line == .sample(time: 500_000_000) && values == [25, 40])
        #expect(parser.fields == ["T", "H"])
        var wanted = LineParser(format: .csv, FieldChoice(fields: try FieldChoice.fields("x,t")))
        _ = try parse(&wanted, "time,t,x")
        let (other, numbers) = try parse(&wanted, "0.5,25,1")
        #expect(other == .sample(time: 500_000_000) && numbers == [1, 25])
    }

    @Test func aBadRowSaysWhatIsWrongAndChangesNothing() throws {
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, "t,x,y,z")
        #expect(problem(&parser, "0,1,2") == "3 cells, but the header names 4 columns")
        #expect(problem(&parser, "0,1,,3") == "y: \"\" is not a number")
        #expect(try parse(&parser, "0,1,2,3").1 == [1, 2, 3])
        #expect(problem(&parser, "0,1,2,3,4") == "5 cells, but the header names 4 columns")
        #expect(problem(&parser, "0,1,2,") == "z: \"\" is not a number")
        #expect(problem(&parser, "0,1,2,three") == "z: \"three\" is not a number")
        #expect(problem(&parser, "nan,1,2,3") == "nan is not a time in seconds")
        #expect(problem(&parser, "0,1,2,\"3") == "a quote is not closed")
        #expect(problem(&parser, "0,1,2,\"3\"3") == "text after a closing quote")
        #expect(try parse(&parser, "1,4,5,6").1 == [4, 5, 6])
    }

    @Test func aBadHeaderIsRefused() throws {
        var parser = LineParser(format: .csv)
        #expect(problem(&parser, "0,1,2,3").contains("the header is missing"))
        parser = LineParser(format: .csv)
        #expect(problem(&parser, "t,x,x").contains("two columns are named \"x\""))
        parser = LineParser(format: .csv)
        _ = try parse(&parser, "t,label")
        #expect(problem(&parser, "0,walk").contains("no column with numbers"))
    }

    @Test func aFieldWithALongNameIsRefused() throws {
        let long = String(repeating: "a", count: 257)
        var parser = LineParser(format: .csv)
        _ = try parse(&parser, "t,\(long.dropLast())")
        #expect(try parse(&parser, "0,1").1 == [1])
        parser = LineParser(format: .csv)
        _ = try parse(&parser, "t,\(long)")
        #expect(problem(&parser, "0,1").contains("has 257 bytes"))
        for value in ["1", "true"] {
            parser = LineParser(format: .ndjson)
            #expect(problem(&parser, "{\"\(long)\":\(value)}").contains("has 257 bytes"))
        }
    }

    /// A device that sends already is read from the middle of a line.
    @Test func aLineThatWasCutIsNoHeader() throws {
        var parser = LineParser(format: .csv)
        #expect(problem(&parser, ",0.3,-0.4,0.5").contains("the header is missing"))
        #expect(problem(&parser, "0,,1").contains("the header is missing"))
        #expect(try parse(&parser, "t,x,y,z").0 == .nothing)
        #expect(try parse(&parser, "0,1,2,3").1 == [1, 2, 3])
    }

    @Test func numbersOfObjectsAreReadLineByLine() throws {
        var parser = LineParser(format: .ndjson, FieldChoice(isNumeric: true))
        #expect(problem(&parser, "{\"t\": 0, \"x\":").contains("this is not JSON"))
        #expect(problem(&parser, "{\"t\": 0}").contains("no numbers"))
        let (line, values) = try parse(&parser, #"{"y": 2, "x": 1.5, "t": 1.25, "who": "me", "b": true}"#)
        #expect(line == .sample(time: 1_250_000_000))
        #expect(values == [1.5, 2])
        #expect(parser.fields == ["x", "y"])
        #expect(try parse(&parser, #"{"x": 3, "y": 4, "z": 5}"#) == (.sample(time: nil), [3, 4]))
        #expect(problem(&parser, #"{"x": 3}"#) == "no number for \"y\"")
        #expect(problem(&parser, "7") == "neither an object nor an array of numbers")
        #expect(try parse(&parser, "").0 == .nothing)
    }
}
