import Files
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import RelayEngine

/// A data directory that the recorders of several leases share.
@Suite(.timeLimit(.minutes(1)))
struct LeaseDirectoryTests {
    private static func interrupt(_ session: String, of shard: Shard, in data: FilePath) throws {
        let record = SessionRecord(
            session: try SessionIdentifier(session), task: "", step: "", streams: ["*"], format: .json, root: .array,
            status: .running, startDate: WallTime(seconds: 1_700_000_000), shard: shard)
        _ = try SessionDirectory.create(record, in: data)
    }

    @Test func theLeasesOfTwoShardsDoNotHinderEachOther() throws {
        let first = try #require(Shard(rawValue: "1/2"))
        let second = try #require(Shard(rawValue: "2/2"))
        try withTemporaryDirectory { data in
            try Self.interrupt("one", of: first, in: data)
            try Self.interrupt("two", of: second, in: data)
            let one = LeaseDirectory(data: data, lease: "study-1", shard: first)
            let two = LeaseDirectory(data: data, lease: "study-2", shard: second)
            #expect(try one.prepare(term: 3, setsAside: false) == [])
            let lock = try DataLock.acquire(in: data, shard: first)
            let moved = try two.prepare(term: 8, setsAside: true)
            #expect(moved == [data.appending("taken-over/two.before-term-8")])
            #expect(try SessionDirectory.sessions(in: data).map(\.text) == ["one"])
            #expect(try one.term() == 3)
            #expect(try two.term() == 8)
            let error = try #require(throws: RecordingError.self) { try one.prepare(term: 4, setsAside: true) }
            #expect(error.code == .locked)
            withExtendedLifetime(lock) {}
        }
    }
}
