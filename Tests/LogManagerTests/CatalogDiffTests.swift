import Messages
import Recording
import Testing

@testable import LogManagerCore

struct CatalogDiffTests {
    private let session: SessionIdentifier
    private static let second: Int64 = 1_795_218_781_000_000_000

    init() throws { session = try SessionIdentifier("s1") }

    private func name(_ text: String) throws -> FinishedName {
        try #require(FinishedName(fileName: text.utf8))
    }

    /// A file whose modification time is this many nanoseconds after 2026-11-20T23:53:01Z.
    private func found(_ text: String, at offset: Int64, bytes: Int = 40, inode: UInt64 = 1) throws -> ScannedFile {
        let name = try name(text)
        let modified = Self.second + offset
        return ScannedFile(
            session: session, name: name,
            identity: FileIdentity(device: 1, inode: inode, bytes: bytes, modified: modified),
            finished: name.moment(modified: modified), sha256: nil, isFinished: true)
    }

    private func known(_ file: ScannedFile, id: Int64 = 1) -> CatalogFile {
        CatalogFile(
            id: id, session: file.session, name: file.name, identity: file.identity, finished: file.finished,
            sha256: "00", uploaded: WallTime(nanosecondsSince1970: 1), receipt: .string("ok"))
    }

    private func offsets(_ files: [ScannedFile]) -> [Int64] {
        files.map { $0.finished.nanosecondsSince1970 - Self.second }
    }

    /// Case 16: files of the same second are ordered by their counts, whatever their modification times; 100 comes after 99.
    @Test func case16_countsGoBeforeTimes() throws {
        let files = [
            try found("a-20261120235301.json", at: 5), try found("a-20261120235301-01.json", at: 5),
            try found("a-20261120235301-02.json", at: 3), try found("a-20261120235301-99.json", at: 900),
            try found("a-20261120235301-100.json", at: 800),
        ]
        let order = files.map { SegmentOrder($0.name) }
        #expect(order == order.sorted())
        #expect(offsets(CatalogDiff(known: [], found: files, after: nil).added) == [5, 6, 7, 900, 901])
    }

    /// The names' stamp stands still while the clock is behind it, so the files' own times are earlier than their stamp.
    @Test func aClockThatWasSetBackKeepsTheOrder() throws {
        let files = [
            try found("a-20261120235301.json", at: 700), try found("a-20261120235301-01.json", at: -3_600_000_000_000),
            try found("a-20261120235301-02.json", at: -3_599_000_000_000), try found("a-20261120235302.json", at: -5),
        ]
        #expect(
            offsets(CatalogDiff(known: [], found: files, after: nil).added) == [700, 701, 702, 1_000_000_000])
    }

    @Test func theFileBeforeTheSpanIsEarlier() throws {
        let before = WallTime(nanosecondsSince1970: Self.second + 50)
        let difference = CatalogDiff(
            known: [], found: [try found("a-20261120235301-01.json", at: 7)], after: before)
        #expect(offsets(difference.added) == [51])
        #expect(difference.last?.nanosecondsSince1970 == Self.second + 51)
        #expect(CatalogDiff(known: [], found: [], after: before).last == before)
    }

    @Test func whatIsKnownStaysAsItIs() throws {
        let file = try found("a-20261120235301.json", at: 5)
        #expect(CatalogDiff(known: [known(file)], found: [file], after: nil).isEmpty)
    }

    @Test func filesComeAndGo() throws {
        let names = ["a-20261120235301.json", "a-20261120235301-01.json", "a-20261120235302.json"]
        let files = try names.enumerated().map { try found($1, at: Int64($0)) }
        let difference = CatalogDiff(
            known: [known(files[0], id: 1), known(files[1], id: 2)], found: [files[1], files[2]], after: nil)
        #expect(difference.gone.map(\.id) == [1])
        #expect(difference.added.map(\.name) == [files[2].name])
        #expect(difference.updated.isEmpty)
    }

    @Test func otherBytesForgetHashAndMark() throws {
        let file = try found("a-20261120235301.json", at: 5)
        for change in [try found("a-20261120235301.json", at: 5, bytes: 41), try found("a-20261120235301.json", at: 6)]
        {
            let difference = CatalogDiff(known: [known(file)], found: [change], after: nil)
            #expect(difference.changed == [known(file)])
            let new = try #require(difference.updated.first?.new)
            #expect(new.identity == change.identity)
            #expect(new.sha256 == nil && new.uploaded == nil && new.receipt == nil)
            #expect(new.finished == change.finished)
        }
    }

    @Test func aCopyThatKeepsSizeAndTimeKeepsTheMark() throws {
        let file = try found("a-20261120235301.json", at: 5)
        let copy = try found("a-20261120235301.json", at: 5, inode: 2)
        let difference = CatalogDiff(known: [known(file)], found: [copy], after: nil)
        #expect(difference.changed.isEmpty)
        let new = try #require(difference.updated.first?.new)
        #expect(new.identity == copy.identity)
        #expect(new.sha256 == "00" && new.uploaded != nil && new.receipt == .string("ok"))
    }

    /// If a file appears between two others, the later ones move on as far as necessary.
    @Test func laterFilesStayLater() throws {
        let first = try found("a-20261120235301.json", at: 5)
        let second = try found("a-20261120235301-01.json", at: 5)
        let third = try found("a-20261120235301-02.json", at: 6)
        let difference = CatalogDiff(
            known: [known(first, id: 1), known(third, id: 3)], found: [first, second, third], after: nil)
        #expect(offsets(difference.added) == [6])
        #expect(difference.updated.map(\.new.finished.nanosecondsSince1970) == [Self.second + 7])
        #expect(difference.changed.isEmpty)
    }
}
