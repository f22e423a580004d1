import Messages
import PublisherCore
import SampleSources
import TestSupport
import Testing

/// Lines with values that are not all numbers.
@Suite(.timeLimit(.minutes(1)))
struct RecordParserTests {
    private func parse(_ parser: inout LineParser, _ text: String) throws(PublisherError) -> (Int64?, String) {
        var row: [Double] = []
        guard case .sample(let time) = try parser.parse(Array(text.utf8).span, into: &row) else {
            return (nil, "nothing")
        }
        #expect(row.isEmpty, "a record has no numbers")
        return (time, String(decoding: parser.record, as: UTF8.self))
    }

    private func problem(_ parser: inout LineParser, _ text: String) -> String {
        let error = #expect(throws: PublisherError.self) { try parse(&parser, text) }
        return error?.message ?? ""
    }

    @Test func theFieldsAreThoseOfTheFirstObject() throws {
        var parser = LineParser(format: .ndjson)
        let first =
            #"{"z": 1152921504606846977, "label": "w\u00e4lk", "t": 1.5, "at": "2026-11-21T00:00:00Z", "ok": true, "x": 1.50}"#
        #expect(
            try parse(&parser, first) == (
                1_500_000_000, #"1.50,1152921504606846977,"2026-11-21T00:00:00Z","w\u00e4lk",true"#
            ))
        #expect(parser.fields == ["x", "z", "at", "label", "ok"])
        #expect(parser.types == [.number, .number, .date, .text, .boolean])
        // Missing fields become null, whatever the order of the others.
        #expect(try parse(&parser, #"{"ok":false,"z":-1e-05}"#) == (nil, "null,-1e-05,null,null,false"))
        #expect(try parse(&parser, #"{"label":null,"x":"NaN"}"#) == (nil, #""NaN",null,null,null,null"#))
    }

    @Test func whatIsNotAFieldIsNamed() throws {
        var parser = LineParser(format: .ndjson)
        _ = try parse(&parser, #"{"label":"a"}"#)
        #expect(parser.leftOut == [])
        _ = try parse(&parser, #"{"label":"a","note":1,"UPTIME":5}"#)
        #expect(parser.leftOut == ["note"])
    }

    @Test func anObjectOfNumbersGivesAFieldForEachAndAnyOtherIsOneValue() throws {
        var parser = LineParser(format: .ndjson)
        let line =
            #"{"g":{"y":2,"x":1},"touch":{"phase":"began","at":[1, 2]},"list":[ ],"none":null,"deep":{"a":{"b":1}}}"#
        #expect(
            try parse(&parser, line) == (
                nil, #"{"a":{"b":1}},1,2,[],null,{"phase":"began","at":[1,2]}"#
            ))
        #expect(parser.fields == ["deep", "g.x", "g.y", "list", "none", "touch"])
        #expect(parser.types == [.json, .number, .number, .json, .json, .json])
        #expect(
            try parse(&parser, #"{"g":{"x":5,"z":9},"none":7,"touch":"no more"}"#) == (
                nil, "null,5,null,null,7,\"no more\""
            ))
    }

    @Test func numbersAloneAreNoRecord() throws {
        var parser = LineParser(format: .ndjson)
        var row: [Double] = []
        let line = try parser.parse(Array(#"{"t":1,"x":2,"g":{"x":3}}"#.utf8).span, into: &row)
        #expect(line == .sample(time: 1_000_000_000))
        #expect(row == [2, 3])
        #expect(parser.types == nil)
    }

    @Test func theFieldsThatWereAskedForAreTaken() throws {
        let fields = try FieldChoice.fields("label:text, g.x ,g:json,lat")
        var parser = LineParser(format: .ndjson, FieldChoice(fields: fields))
        #expect(
            try parse(&parser, #"{"t":2,"other":1,"g":{"x":1.0}}"#) == (2_000_000_000, #"null,null,{"x":1.0},null"#))
        #expect(parser.fields == ["label", "g.x", "g", "lat"])
        #expect(parser.types == [.text, .number, .json, .number])
    }

    @Test(arguments: ["t", "seconds_elapsed", "timestamp", "Time"])
    func theTimeBesidesFieldsThatWereAskedForHasAnyOfItsNames(name: String) throws {
        let fields = try FieldChoice.fields("label:text")
        var parser = LineParser(format: .ndjson, FieldChoice(fields: fields))
        #expect(try parse(&parser, #"{"label":"a","\#(name)":2}"#) == (2_000_000_000, #""a""#))
        #expect(try parse(&parser, #"{"\#(name)":3,"label":"b"}"#) == (3_000_000_000, #""b""#))
        #expect(parser.leftOut == [])
    }

    @Test(arguments: [
        ("label:words", "is not a type"), ("a,a", "repeated"), ("", "is empty"), ("a,,b", "is empty"),
        ("Uptime", "reserved"), (":text", "is empty"), (String(repeating: "a", count: 257), "has 257 bytes"),
        ((0...1000).map { "f\($0)" }.joined(separator: ","), "too many"),
    ])
    func fieldsThatCannotBeAreRefused(text: String, problem: String) {
        let error = #expect(throws: PublisherError.self) { try FieldChoice.fields(text) }
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test func aLineThatIsNotWhatItsFieldsAreIsRefusedAndChangesNothing() throws {
        var parser = LineParser(format: .ndjson)
        #expect(problem(&parser, #"{"label":"a","label":"b"}"#) == "\"label\" appears twice")
        #expect(parser.fields.isEmpty, "a bad first line does not say what the fields are")
        _ = try parse(&parser, #"{"label":"a","x":1}"#)
        #expect(problem(&parser, #"{"label":5}"#).contains("\"label\" is 5, which is not text"))
        #expect(problem(&parser, #"{"x":"5"}"#).contains("\"x\" is \"5\", which is not number"))
        #expect(problem(&parser, #"{"label":"\ud800"}"#).contains("surrogate"))
        #expect(problem(&parser, #"{"label":"a"} {}"#).contains("expected to end"))
        #expect(problem(&parser, "[1,2]").contains("a JSON object was expected"))
        #expect(problem(&parser, "{\"label\":\"a\u{1}\"}").contains("control character"))
        let deep = String(repeating: "[", count: 17) + String(repeating: "]", count: 17)
        #expect(problem(&parser, "{\"label\":\(deep)}").contains("nested too deep"))
        #expect(try parse(&parser, #"{"label":"b"}"#) == (nil, #"null,"b""#))
    }

    @Test func aTableGivesRecordsOfTheFieldsThatWereAskedFor() throws {
        let fields = try FieldChoice.fields("label:text,x,n,ok:boolean,at:date,more:json")
        var parser = LineParser(format: .csv, FieldChoice(fields: fields))
        _ = try parse(&parser, "t,x,label,n,ok,at,more,rest")
        let row = #"0.5,1.50,"say ""hi"", you",+.5,true,2026-11-21T00:00:00Z,"{""a"": [1, 2]}",x"#
        #expect(
            try parse(&parser, row) == (
                500_000_000, #""say \"hi\", you",1.50,0.5,true,"2026-11-21T00:00:00Z",{"a":[1,2]}"#
            ))
        #expect(parser.fields == ["label", "x", "n", "ok", "at", "more"])
        #expect(parser.leftOut == ["rest"])
        #expect(try parse(&parser, "1,,,,,,,") == (1_000_000_000, "null,null,null,null,null,null"))
        #expect(problem(&parser, "1,one,,,,,,").contains("x: \"one\" is not a number"))
        #expect(problem(&parser, "1,,,,yes,,,").contains("ok: \"yes\" is not boolean"))
        #expect(problem(&parser, "1,,,,,,{,").contains("more: \"{\" is not json"))
        var other = LineParser(format: .csv, FieldChoice(fields: fields))
        _ = try parse(&other, "t,x")
        #expect(problem(&other, "1,2").contains("no column is named \"label\""))
    }

    @Test func deviceMotionKeepsWhatItsSourceHas() throws {
        var parser = LineParser(format: .ndjson, FieldChoice(isMotion: true))
        let line = #"""
            {"timestamp":1000,"attitude":{"x":0.1,"y":0.2,"z":0.3,"w":0.9},"rotationRate":{"x":1,"y":2,"z":3},\#
            "gravity":{"x":0,"y":0,"z":-1.0},"userAcceleration":{"x":0.5,"y":0,"z":0},\#
            "magneticField":{"x":10,"y":20,"z":30,"accuracy":2},"heading":270.25,"referenceCoordinate":"North-West-Up","label":"a"}
            """#
        #expect(
            try parse(&parser, line).1
                == #"0.5,0,0,0,0,-1.0,1,2,3,0.1,0.2,0.3,0.9,10,20,30,2,270.25,"North-West-Up""#)
        #expect(
            parser.fields == DeviceMotion.fields + [
                "attitude.x", "attitude.y", "attitude.z", "attitude.w", "magneticField.x", "magneticField.y",
                "magneticField.z", "magneticField.accuracy", "heading", "referenceCoordinate",
            ])
        // A component that the source never has is zero; one that is missing now is null.
        var sparse = LineParser(format: .ndjson, FieldChoice(isMotion: true))
        #expect(
            try parse(&sparse, #"{"x":1,"y":2,"z":3,"referenceCoordinate":"xArb"}"#).1 == #"1,2,3,0,0,0,0,0,0,"xArb""#)
        #expect(try parse(&sparse, #"{"x":1,"y":2,"referenceCoordinate":null}"#).1 == "1,2,null,0,0,0,0,0,0,null")
        // The same applies to a table.
        var table = LineParser(format: .csv, FieldChoice(isMotion: true))
        _ = try parse(&table, "t,y,label,heading,referenceCoordinate")
        #expect(try parse(&table, "0,2,walk,,xArb") == (0, #"0,2,0,0,0,0,0,0,0,null,"xArb""#))
        #expect(table.fields == DeviceMotion.fields + ["heading", "referenceCoordinate"])
        #expect(table.leftOut == ["label"])
        // Numeric values stay numbers, with the existing fields.
        let layout = try DeviceMotionLayout(fields: ["attitude.w", "x", "other", "heading"])
        #expect(layout.fields == DeviceMotion.fields + ["attitude.w", "heading"])
        var row: [Double] = [9, 0.75, 1, 7, 180]
        layout.apply(to: &row, from: 1)
        #expect(row == [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.75, 180])
    }

    // MARK: Streams

    @Test func aLiveStreamOfRecordsIsPublishedAndKept() throws {
        let input = try LiveInput(format: .ndjson, batch: 2)
        try input.start(at: 0)
        let text = "{\"label\":\"a\"}\n{\"label\":5}\n{\"label\":\"b\",\"more\":1}\n{\"label\":\"c\"}\n"
        let batches = input.take(Array(text.utf8).span, at: 1_000_000_000, date: .now)
        #expect(batches.map(\.count) == [2])
        #expect(batches[0].rows == [1, 1])
        #expect(batches[0].records?.byteCount == 7 - 1)
        #expect(input.malformedLines == 1)
        #expect(input.fields == ["uptime", "label"])
        #expect(input.types == [.number, .text])
        #expect(input.description == "stdin:ndjson, without more")
        let rest = try #require(input.stop(at: 2_000_000_000))
        #expect(rest.firstSequence == 2)
        var buffer = RetentionBuffer()
        buffer.insert(batches[0], of: 0, at: 0)
        buffer.insert(rest, of: 0, at: 0)
        #expect(buffer.bytes >= 9 + 2 * RetentionBuffer.overhead)
        let answer = buffer.batches(of: 0, from: 1, count: 5, maximumBytes: 1 << 20)
        #expect(answer.slices.map(\.firstSequence) == [1, 2])
        #expect(answer.slices.map { $0.records?.count } == [1, 1])
        #expect(buffer.batches(of: 0, from: 0, count: 5, maximumBytes: 1).count == 1, "one is answered in any case")
    }

    @Test func aBatchOfLongRecordsIsNotMuchLongerThanIsAllowed() throws {
        let input = try LiveInput(format: .ndjson, batch: 1_000)
        try input.start(at: 0)
        let line = "{\"label\":\"\(String(repeating: "x", count: 400_000))\"}\n"
        let batches = input.take(Array(String(repeating: line, count: 7).utf8).span, at: 1, date: .now)
        #expect(batches.map(\.count) == [3, 3])
        #expect(batches.allSatisfy { $0.records?.isFull == true })
    }

    @Test func aFileOfRecordsIsReplayed() throws {
        let lines = (0..<5).map { "{\"t\":\(Double($0) / 10),\"label\":\"s\($0)\",\"x\":\($0)}\n" }.joined()
        try withFile("events.ndjson", lines) { path in
            let configuration = try StreamConfiguration(
                device: "phone", stream: "events", source: .replay(path), batch: 2)
            var sampler = try configuration.makeSourcedSampler()
            try sampler.start(at: 0)
            #expect(sampler.fields == ["uptime", "x", "label"])
            #expect(sampler.types == [.number, .number, .text])
            let first = sampler.advance(to: 150_000_000)
            #expect(first.map(\.rows) == [[0, 0.1]])
            #expect(first[0].records?.byteCount == 12)
            // The due samples of an incomplete batch are cut out of it.
            let flushed = sampler.flush(at: 250_000_000)
            let part = try #require(flushed)
            #expect(part.rows == [0.2])
            #expect(part.records?.count == 1)
            let rest = sampler.advance(to: 1_000_000_000)
            #expect(rest.map(\.rows) == [[0.3], [0.4]])
            #expect(sampler.state == .ended)
            try configuration.checkSource()
            // A packed stream still has only numbers.
            let packed = try StreamConfiguration(
                device: "phone", stream: "events", source: .replay(path), isPacked: true)
            #expect(try packed.makeSampler().types == nil)
            #expect(try packed.makeSampler().fields == ["uptime", "x"])
        }
    }

    @Test func fieldsThatASourceCannotHaveAreRefused() throws {
        let fields = try FieldChoice.fields("label:text")
        for (stream, source, isPacked) in [
            ("a", StreamConfiguration.Source.signal("sine"), false), ("a", .points("p.json"), false),
            ("a", .stdin(.ndjson), true), ("deviceMotion", .stdin(.ndjson), false),
        ] {
            #expect(throws: PublisherError.self) {
                try StreamConfiguration(
                    device: "d", stream: stream, source: source, isPacked: isPacked, fields: fields)
            }
        }
    }
}
