import Files
import FoundationEssentials
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DiskReserveTests {
    @Test func theRoomIsTakenAndGivenBack() throws {
        try withTemporaryDirectory { data in
            let reserve = DiskReserve(in: SessionDirectory.recordings(in: data.path), bytes: 300_000)
            let path = data.path.appending("recordings/.reserve")
            #expect(!reserve.exists)
            try reserve.release()
            for _ in 0..<2 {
                #expect(try reserve.restore())
                #expect(reserve.exists)
                let size = try path.stat()
                #expect(size.size == 300_000 && size.sizeAllocated >= 300_000)
                // The reserve already exists.
                #expect(try reserve.restore())
                try reserve.release()
                #expect(!reserve.exists)
            }
        }
    }

    @Test func aReserveWithoutItsRoomIsMadeAgain() throws {
        try withTemporaryDirectory { data in
            let reserve = DiskReserve(in: SessionDirectory.recordings(in: data.path), bytes: 300_000)
            let path = data.path.appending("recordings/.reserve")
            try Directory(data.path.appending("recordings")).create()
            // A file of the same length without allocated blocks.
            let file = try FileDescriptor.open(path, .writeOnly, options: .create, permissions: .ownerReadWrite)
            try file.closeAfter { try file.resize(to: 300_000) }
            #expect(!reserve.exists)
            #expect(try reserve.restore())
            #expect(reserve.exists)
        }
    }

    @Test func theLastRoomIsNotTaken() throws {
        try withTemporaryDirectory { data in
            let free = try data.freeBytes()
            let reserve = DiskReserve(in: SessionDirectory.recordings(in: data.path), bytes: free / 2 + (1 << 30))
            #expect(try !reserve.restore())
            #expect(!reserve.exists)
            #expect(try Directory(data.path.appending("recordings")).names().isEmpty)
        }
    }

    @Test func freeBytesAreThoseOfTheDisk() throws {
        try withTemporaryDirectory { data in
            let free = try data.freeBytes()
            #expect(free > 1 << 20)
            #expect(throws: RecordingError.self) { try Directory(data.path.appending("nowhere")).freeBytes() }
        }
    }
}
