import TestSupport
import Testing

@testable import CrashLab

/// The rules of `DiskModel`, in small cases.
@Suite(.timeLimit(.minutes(5)))
struct DiskModelTests {
    private static let root = "/data"

    /// A disk on which `log` was created, with its entry synced or not.
    private static func disk(syncedEntries: Bool = true) -> DiskModel {
        var disk = DiskModel(root: root)
        disk.apply(record(.open, handle: 1, path: root))
        disk.apply(record(.open, handle: 2, offset: 1, path: "\(root)/log"))
        if syncedEntries {
            disk.apply(record(.syncBegin, handle: 1, offset: 3))
            disk.apply(record(.syncEnd, handle: 1, offset: 3))
        }
        return disk
    }

    private static func record(
        _ kind: DiskTrace.Record.Kind, handle: UInt32 = 0, offset: Int = 0, path: String = "", second: String = "",
        payload: [UInt8] = []
    ) -> DiskTrace.Record {
        DiskTrace.Record(
            time: 0, kind: kind, handle: handle, offset: offset, path: path, second: second, payload: payload)
    }

    private static func write(_ byte: UInt8, count: Int, at offset: Int) -> DiskTrace.Record {
        record(.write, handle: 2, offset: offset, payload: Array(repeating: byte, count: count))
    }

    @Test func whatWasSyncedIsThereAndTheRestNeedNotBe() {
        var disk = Self.disk()
        var random = SplitMix(seed: 1, for: "")
        disk.apply(Self.write(1, count: 10, at: 0))
        disk.apply(Self.record(.syncBegin, handle: 2, offset: 4))
        disk.apply(Self.write(2, count: 10, at: 10))
        // The sync has not ended, so none of its effect is certain.
        #expect(disk.remains(.none, using: &random).files == ["log": []])
        disk.apply(Self.record(.syncEnd, handle: 2, offset: 4))
        #expect(disk.remains(.none, using: &random).files == ["log": Array(repeating: 1, count: 10)])
        #expect(
            disk.remains(.all, using: &random).files["log"]
                == Array(repeating: 1, count: 10) + Array(repeating: 2, count: 10))
    }

    @Test func unsyncedPagesComeInAnyCombination() {
        var disk = Self.disk()
        var random = SplitMix(seed: 2, for: "")
        for page in 0..<3 { disk.apply(Self.write(7, count: 4_096, at: page * 4_096)) }
        var seen: Set<[UInt8]> = []
        var lengths: Set<Int> = []
        for _ in 0..<300 {
            guard let bytes = disk.remains(.some, using: &random).files["log"] else { continue }
            lengths.insert(bytes.count)
            if bytes.count == 3 * 4_096 { seen.insert([bytes[0], bytes[4_096], bytes[8_192]]) }
            #expect(bytes.allSatisfy { $0 == 0 || $0 == 7 })
        }
        #expect(lengths == [0, 4_096, 8_192, 12_288])
        #expect(seen.count == 8)
    }

    @Test func aTornPageIsTornAtSectors() {
        var disk = Self.disk()
        var random = SplitMix(seed: 3, for: "")
        disk.apply(Self.write(1, count: 4_096, at: 0))
        disk.apply(Self.record(.syncBegin, handle: 2, offset: 4))
        disk.apply(Self.record(.syncEnd, handle: 2, offset: 4))
        disk.apply(Self.write(2, count: 4_096, at: 0))
        var isTorn = false
        for _ in 0..<100 {
            guard let bytes = disk.remains(.some, using: &random).files["log"] else { continue }
            #expect(bytes.count == 4_096)
            for sector in stride(from: 0, to: 4_096, by: 512) {
                #expect(Set(bytes[sector..<sector + 512]).count == 1)
            }
            isTorn = isTorn || Set(bytes).count == 2
        }
        #expect(isTorn)
    }

    @Test func entriesSurviveInTheirOrder() {
        var disk = Self.disk(syncedEntries: false)
        var random = SplitMix(seed: 4, for: "")
        disk.apply(Self.record(.rename, path: "\(Self.root)/log", second: "\(Self.root)/finished"))
        disk.apply(Self.record(.open, handle: 3, offset: 1, path: "\(Self.root)/log"))
        var seen: Set<[String]> = []
        for _ in 0..<100 { seen.insert(disk.remains(.some, using: &random).files.keys.sorted()) }
        #expect(seen == [[], ["log"], ["finished"], ["finished", "log"]])
        #expect(disk.remains(.none, using: &random).files.isEmpty)
    }

    @Test func aDirectoryWithoutAnEntryIsGoneWithAllThatIsInIt() {
        var disk = DiskModel(root: Self.root)
        var random = SplitMix(seed: 5, for: "")
        disk.apply(Self.record(.makeDirectory, path: "\(Self.root)/session"))
        disk.apply(Self.record(.open, handle: 1, path: "\(Self.root)/session"))
        disk.apply(Self.record(.open, handle: 2, offset: 1, path: "\(Self.root)/session/log"))
        disk.apply(Self.record(.syncBegin, handle: 1, offset: 3))
        disk.apply(Self.record(.syncEnd, handle: 1, offset: 3))
        #expect(disk.remains(.none, using: &random) == DiskModel.DiskAfterCrash())
        disk.apply(Self.record(.open, handle: 4, path: Self.root))
        disk.apply(Self.record(.syncBegin, handle: 4, offset: 5))
        disk.apply(Self.record(.syncEnd, handle: 4, offset: 5))
        #expect(
            disk.remains(.none, using: &random)
                == DiskModel.DiskAfterCrash(files: ["session/log": []], directories: ["session"]))
    }

    @Test func aShortenedFileMayHaveEitherLength() {
        var disk = Self.disk()
        var random = SplitMix(seed: 6, for: "")
        disk.apply(Self.write(1, count: 6_000, at: 0))
        disk.apply(Self.record(.syncBegin, handle: 2, offset: 4))
        disk.apply(Self.record(.syncEnd, handle: 2, offset: 4))
        disk.apply(Self.record(.truncate, handle: 2, offset: 100))
        var lengths: Set<Int> = []
        for _ in 0..<100 { lengths.insert(disk.remains(.some, using: &random).files["log"]?.count ?? -1) }
        #expect(lengths == [100, 6_000])
    }
}
