import Messages
import Testing

/// A reader's result is that of `SampleBody`, whatever the reader has read before.
@Suite(.timeLimit(.minutes(5)))
struct SampleBodyReaderTests {
    private static let parts: [any Sendable & KeyPath<SampleBody, Range<Int>>] = [
        \.source, \.device, \.stream, \.epoch, \.fields, \.clock,
    ]

    /// Reads bodies in turn, and compares each result or error with that of `SampleBody`.
    private func compare(_ bodies: [String]) {
        var reader = SampleBodyReader()
        for text in bodies {
            Array(text.utf8).withUnsafeBytes { frame in
                let expected = Result { () throws(MessageError) in try SampleBody(frame) }
                let found = Result { () throws(MessageError) in try reader.read(frame) }
                switch (expected, found) {
                case (.success(let expected), .success(let found)):
                    for part in Self.parts { #expect(found[keyPath: part] == expected[keyPath: part], "\(text)") }
                    #expect(found.values == expected.values, "\(text)")
                    #expect(found.sequence == expected.sequence && found.count == expected.count, "\(text)")
                case (.failure(let expected), .failure(let found)):
                    #expect("\(found)" == "\(expected)", "\(text)")
                default:
                    Issue.record("\(text): \(found), not \(expected)")
                }
            }
        }
    }

    private func body(
        clock: String = #"{"date":"2026-11-21T05:25:01.123456Z","uptime":12.5}"#, count: String = "2",
        epoch: String = "5F0E4F0A", sequence: String = "40", source: String = "sensor-publisher",
        values: String? = "[[1,2],[3,4]]", end: String = "}"
    ) -> String {
        #"{"clock":\#(clock),"count":\#(count),"device":"left-wrist","epoch":"\#(epoch)","#
            + #""fields":["uptime","x"],"schema":"samples.v1","sequence":\#(sequence),"#
            + #""source":"\#(source)","stream":"gyro""#
            + (values.map { ",\"values\":\($0)" } ?? "") + end
    }

    @Test func whatChangesFromBatchToBatchIsRead() {
        compare([
            body(), body(), body(count: "12345", sequence: "9"), body(clock: #"{"uptime":1,"date":"x"}"#),
            body(sequence: "9007199254740992"), body(values: #"[["]",1]]"#), body(values: "[]"), body(values: nil),
            body(values: nil), body(), body(epoch: "other"), body(source: #"a\"b"#), body(source: "bücher"), body(),
        ])
    }

    @Test func aBodyThatIsWrittenInAnotherWayIsReadAsWell() {
        let unordered =
            #"{"values":[],"stream":"a","source":"b","sequence":1,"schema":"samples.v1","fields":["t"],"#
            + #""epoch":"e","device":"d","count":0,"clock":{}}"#
        compare([
            body(), unordered, unordered, body(), body(end: #","zone":1}"#), body(), body(end: "} "),
            body(end: " }"), body(count: " 2 "), body(sequence: "  7"), body(sequence: "7 "), body(),
            // An unknown key whose value looks like the beginning of a body.
            body(end: #","zone":{"sequence":4,"source":"x"}}"#), body(),
            body(sequence: #"4,"shape":{"sequence":5},"size":7"#), body(),
        ])
    }

    @Test func whatIsWrongIsRefusedWithTheSameWords() {
        compare([
            body(), body(count: "-1"), body(), body(count: "1.5"), body(sequence: "01"), body(sequence: "1e3"),
            body(sequence: "99999999999999999999"), body(clock: "[]"), body(clock: #"{"a" 1}"#), body(clock: ""),
            body(values: "[[1,2]"), body(values: "7"), body(end: ""), body(end: "}}"), body(end: "},"),
            body(end: #","count":2}"#), body(sequence: ""), body(sequence: #"1,"sequence":2"#), "", "{", "{}", "[]",
            body(),
        ])
    }

    @Test func noCutOrFlippedBodyIsTakenForAWholeOne() {
        for text in [body(), body(values: nil)] {
            let bytes = Array(text.utf8)
            compare(bytes.indices.flatMap { [text, String(decoding: bytes[..<$0], as: UTF8.self)] })
            for bit in 0..<7 {
                compare(
                    bytes.indices.flatMap { index in
                        var flipped = bytes
                        flipped[index] ^= 1 << bit
                        return [text, String(decoding: flipped, as: UTF8.self)]
                    })
            }
        }
    }
}
