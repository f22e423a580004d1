import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SampleRowsTests {
    static func tokens(_ text: String, columns: Int) throws -> [[String]] {
        // Bytes around the array, which must not be read.
        let before = "[[1,"
        let bytes = Array((before + text + "1]").utf8)
        let values = before.utf8.count..<(bytes.count - 2)
        return try bytes.withUnsafeBytes { frame in
            var found: [[String]] = []
            var rows = SampleRows(frame, values: values, columns: columns)
            while try rows.next() {
                found.append((0..<columns).map { String(decoding: frame[rows.token($0)], as: UTF8.self) })
                #expect(rows.rowCount == found.count)
            }
            #expect(try !rows.next())
            return found
        }
    }

    @Test func rowsAreWalked() throws {
        let text = #"[[1,-0.5,1e-05],[12345678901234567890,null,"NaN"],["Infinity","-Infinity",0]]"#
        let rows = try Self.tokens(text, columns: 3)
        #expect(
            rows == [
                ["1", "-0.5", "1e-05"], ["12345678901234567890", "null", "\"NaN\""],
                ["\"Infinity\"", "\"-Infinity\"", "0"],
            ])
    }

    @Test func blanksAreAllowed() throws {
        let rows = try Self.tokens(" [ [ 1 ,\t2 ] ,\r\n[3 , 4] ] ", columns: 2)
        #expect(rows == [["1", "2"], ["3", "4"]])
    }

    @Test func noRowsAreFine() throws {
        #expect(try Self.tokens("[]", columns: 3) == [])
        #expect(try Self.tokens("[ ]", columns: 3) == [])
        #expect(try Self.tokens("[[],[]]", columns: 0) == [[], []])
    }

    @Test(arguments: ["[[1,2],[3]]", "[[1,2],[3,4,5]]", "[[1,2],[]]", "[[1,2],[3,]]"])
    func anotherNumberOfColumnsIsRefused(_ text: String) {
        let error = #expect(throws: MessageError.self) { try Self.tokens(text, columns: 2) }
        #expect(error?.code == .wrongColumns)
        #expect(error?.description == "row 1 of \"values\" must have 2 values, as \"fields\" has names")
    }

    @Test(arguments: [
        "[[1,true]]", "[[1,[2]]]", "[[1,{}]]", "[[1,\"2\"]]", "[[1,\"nan\"]]", "[1,2]", "[null]", "[\"]\"]",
        "[[1,\"]]\"]]", "[[1,NaN]]", "[[1,+2]]", "[[1,.5]]",
    ])
    func whatIsNoNumberIsRefused(_ text: String) {
        let error = #expect(throws: MessageError.self) { try Self.tokens(text, columns: 2) }
        #expect(error?.code == .wrongType)
    }

    @Test(arguments: [
        "", "1", "[[1,2]", "[[1,2]]]", "[[1,2]],", "[[1,2][3,4]]", "[[1,02]]", "[[1,2.]]", "[[1,-]]", "[[1,2e]]",
        "[[1 2]]", "[[1,nul]]", "{}",
    ])
    func malformedRowsAreRefused(_ text: String) {
        #expect(throws: MessageError.self) { try Self.tokens(text, columns: 2) }
    }

    @Test func thereIsNoRowAfterAnError() throws {
        try Array("[[1],[],[3]]".utf8).withUnsafeBytes { frame throws in
            var rows = SampleRows(frame, values: 0..<frame.count, columns: 1)
            #expect(try rows.next())
            #expect(throws: MessageError.self) { try rows.next() }
            #expect(try !rows.next())
            #expect(rows.rowCount == 1)
        }
    }

    @Test func rowsCutAnywhereAreRefused() {
        let text = #"[[1,-0.5,1e-05],[12345678901234567890,null,"NaN"],["Infinity","-Infinity",0]]"#
        for length in 0..<text.utf8.count {
            #expect(throws: MessageError.self) { try Self.tokens(String(text.prefix(length)), columns: 3) }
        }
    }

    @Test func whatWasEncodedIsReadBack() throws {
        var generator = SeededGenerator()
        let columns = 8
        let rows = (0..<200).map { _ in
            (0..<columns).map { _ in
                Bool.random(using: &generator) ? generator.finiteNumber() : .random(in: -2...2, using: &generator)
            }
        }
        var batch = SampleBatchTests.batch(values: rows)
        batch.count = rows.count
        batch.fields = (0..<columns).map(String.init)
        try Array(SampleBatchEncoderTests.encode(batch, rows: rows).utf8).withUnsafeBytes { frame in
            let body = try SampleBody(frame)
            let values = try #require(body.values)
            var walk = SampleRows(frame, values: values, columns: columns)
            var found: [[Double]] = []
            while try walk.next() { found.append((0..<columns).map { walk.number($0) }) }
            #expect(found == rows)
        }
    }

    @Test func nonFiniteValuesAreNumbers() throws {
        let bytes = Array(#"[[null,"NaN","Infinity","-Infinity",1.5]]"#.utf8)
        try bytes.withUnsafeBytes { frame throws in
            var rows = SampleRows(frame, values: 0..<frame.count, columns: 5)
            #expect(try rows.next())
            #expect(rows.number(0).isNaN)
            #expect(rows.number(1).isNaN)
            #expect((2..<5).map { rows.number($0) } == [.infinity, -.infinity, 1.5])
        }
    }
}
