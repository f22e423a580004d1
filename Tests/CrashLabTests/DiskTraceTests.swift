import SystemPackage
import Testing

@testable import CrashLab

/// What a trace reveals about a program's calls.
@Suite(.timeLimit(.minutes(1)))
struct DiskTraceTests {
    private static func record(
        _ kind: DiskTrace.Record.Kind, handle: UInt32 = 0, offset: Int = 0, path: String = "", second: String = ""
    ) -> DiskTrace.Record {
        DiskTrace.Record(time: 0, kind: kind, handle: handle, offset: offset, path: path, second: second)
    }

    private static let failed = [
        record(.open, handle: 1, offset: 1, path: "/d/log"), record(.write, handle: 1),
        record(.syncFailed, handle: 1),
    ]

    @Test func aSecondSyncOfTheSameFileIsNoticedUnderAnyName() {
        #expect(DiskTrace(Self.failed).resyncedPaths.isEmpty)
        let synced = [Self.record(.syncBegin, handle: 2, offset: 2), Self.record(.syncEnd, handle: 2, offset: 2)]
        let again = [Self.record(.open, handle: 2, path: "/d/log")]
        #expect(DiskTrace(Self.failed + again + synced).resyncedPaths == ["/d/log"])
        let renamed = [
            Self.record(.rename, path: "/d/log", second: "/d/end"), Self.record(.open, handle: 2, path: "/d/end"),
        ]
        #expect(DiskTrace(Self.failed + renamed + synced).resyncedPaths == ["/d/end"])
    }

    @Test func aNewFileInItsPlaceMayBeSynced() {
        let copy = [
            Self.record(.open, handle: 2, offset: 1, path: "/d/copy"), Self.record(.write, handle: 2),
            Self.record(.syncBegin, handle: 2, offset: 2), Self.record(.syncEnd, handle: 2, offset: 2),
            Self.record(.rename, path: "/d/copy", second: "/d/log"), Self.record(.open, handle: 3, path: "/d/log"),
            Self.record(.syncBegin, handle: 3, offset: 4), Self.record(.syncEnd, handle: 3, offset: 4),
        ]
        #expect(DiskTrace(Self.failed + copy).resyncedPaths.isEmpty)
    }

    @Test func callsAreCountedByTheFilesTheyAreMadeOn() {
        let trace = DiskTrace([
            Self.record(.open, handle: 1, offset: 1, path: "/d/.wal/0"), Self.record(.write, handle: 1),
            Self.record(.open, handle: 2, offset: 1, path: "/d/session/log"), Self.record(.write, handle: 2),
            Self.record(.write, handle: 2), Self.record(.rename, path: "/d/session/log", second: "/d/session/end"),
        ])
        #expect(trace.counts == [.create: 2, .write: 3, .rename: 1])
        #expect(trace.counts(under: "/d/.wal") == [.create: 1, .write: 1])
        #expect(trace.counts(under: "/d/session") == [.create: 1, .write: 2, .rename: 1])
    }

    @Test func blocksOfTheWriteAheadLogAreFoundByTheirLengths() {
        var bytes = [UInt8](repeating: 0, count: 40)
        bytes[8] = 40
        let segment = WriteAheadFiles.Segment(name: "00000000000001f0.wal", bytes: bytes + bytes + bytes.prefix(20))
        #expect(segment.position == 0x1F0)
        #expect(segment.blocks == [0..<40, 40..<80])
    }
}
