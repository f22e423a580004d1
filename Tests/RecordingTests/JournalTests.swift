import Files
import FoundationEssentials
import Messages
import SystemPackage
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
    private func entry(_ number: Int, _ kind: JournalEntry.Kind = .commit) throws -> JournalEntry {
        var counts = StreamCounts()
        counts.written = 10 * number
        return JournalEntry(
            kind: kind, index: number, log: LogName("phone_gyro"), segment: 0, bytes: 100 * number,
            samples: 10 * number, epoch: "E1", next: 10 * number, counts: counts,
            date: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"))
    }

    /// Lines as version 0.6 wrote them.
    private let lines = """
        {"bytes":100,"counts":{"duplicates":0,"paused":0,"recovered":0,"written":10},\
        "date":"2026-11-21T02:55:01.123456Z","epoch":"E1","index":1,"kind":"commit","log":"phone_gyro",\
        "next":10,"samples":10,"segment":0}
        {"bytes":200,"counts":{"duplicates":0,"paused":0,"recovered":0,"written":20},\
        "date":"2026-11-21T02:55:01.123456Z","epoch":"E1","index":2,"kind":"position","log":"phone_gyro",\
        "next":20,"samples":20,"segment":0}

        """

    private func entries(in bytes: some Sequence<UInt8>) throws -> [JournalEntry] {
        try withTemporaryDirectory { directory in
            try write(bytes, to: directory.path.appending(JournalEntry.fileName))
            return try JournalEntry.read(in: directory)
        }
    }

    @Test func linesOfEarlierVersionsAreRead() throws {
        #expect(try entries(in: lines.utf8) == [entry(1), entry(2, .position)])
    }

    @Test func aTornTailIsPassedOver() throws {
        let whole = Array(lines.utf8)
        let expected = try [entry(1), entry(2, .position)]
        let first = try #require(whole.firstIndex(of: UInt8(ascii: "\n"))) + 1
        for length in 0...whole.count {
            let count = length == whole.count ? 2 : length >= first ? 1 : 0
            #expect(try entries(in: whole[..<length]) == Array(expected[..<count]))
        }
        // A power cut may leave zeros, or half a line followed by others.
        #expect(try entries(in: whole + [UInt8](repeating: 0, count: 100)) == expected)
        #expect(try entries(in: whole[..<(first + 7)] + whole) == Array(expected[..<1]))
    }

    @Test func aJournalThatDoesNotExistSaysNothing() throws {
        try withTemporaryDirectory { directory in
            let entries = try JournalEntry.read(in: directory)
            #expect(entries.isEmpty)
        }
    }

    /// A later line about an earlier position shows that the records after it were removed.
    @Test func linesAboutWhatWasCutOffDoNotCount() throws {
        var again = try entry(1)
        again.index = 4
        again.epoch = "E2"
        let other = try entry(3)
        #expect(
            JournalEntry.valid(in: [try entry(1), try entry(2), other, again].reversed())
                == [again.log: [try entry(1), again]])
    }
}
