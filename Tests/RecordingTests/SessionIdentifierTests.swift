import Files
import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionIdentifierTests {
    @Test(arguments: ["a", "walk-1_B.2", "...", "-", ".hidden", String(repeating: "x", count: 128)])
    func namesThatDo(text: String) throws {
        #expect(try SessionIdentifier(text).text == text)
    }

    @Test(arguments: [
        "", ".", "..", "a/b", "../x", "a b", "a\u{0}", "é", "a\n", "歩", String(repeating: "x", count: 129), "a\\b",
        "a:b",
    ])
    func namesThatWouldNotDoAreRefusedWithAReason(text: String) throws {
        let error = try #require(throws: RecordingError.self) { try SessionIdentifier(text) }
        #expect(error.code == .invalidParameter)
        #expect(error.description.contains("Use 1 to 128 letters"))
    }

    @Test(arguments: [".wal", ".wal-1-of-2", ".lock", ".reserve-end", "discarded.ndjson"])
    func aNewSessionHasNoNameOfTheRecordersOwnFiles(text: String) throws {
        let error = try #require(throws: RecordingError.self) { try SessionIdentifier(new: text) }
        #expect(error.code == .invalidParameter)
        #expect(try SessionIdentifier(new: ".hidden").text == ".hidden")
    }

    @Test func namesAreMadeOfDateAndRandomBits() throws {
        let date = try WallTime(iso8601: "2026-11-21T02:55:01.9Z")
        let session = SessionIdentifier(startedAt: date, random: 0x3F9A)
        #expect(session.text == "20261121T025501Z-3f9a")
        #expect(SessionIdentifier(startedAt: date, random: 1).text == "20261121T025501Z-0001")
        #expect(try SessionIdentifier(session.text) == session)
    }

    @Test func decodingChecksTheName() throws {
        #expect(throws: DecodingError.self) {
            try WireCoding.decode(SessionIdentifier.self, from: Array("\"../x\"".utf8))
        }
    }
}
