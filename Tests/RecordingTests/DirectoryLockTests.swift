import Files
import Recording
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DirectoryLockTests {
    @Test func oneAtATimeHasAPieceOfWork() throws {
        try withTemporaryDirectory { path in
            let directory = Directory(path)
            let first = try DirectoryLock.take("s1", in: directory)
            #expect(first != nil)
            let second = try DirectoryLock.take("s1", in: directory)
            #expect(second == nil)
            let names = try directory.names()
            #expect(names == [".s1.claim"])
            withExtendedLifetime(first) {}
        }
    }

    @Test func aClaimThatEndsLeavesNothing() throws {
        try withTemporaryDirectory { path in
            let directory = Directory(path)
            for _ in 0..<3 {
                let claim = try DirectoryLock.take("s1", in: directory)
                #expect(claim != nil)
            }
            let names = try directory.names()
            #expect(names == [])
        }
    }

    /// A thread that opens a lock file while its holder releases it must not believe that it holds the lock.
    @Test func manyThreadsNeverHaveTheSame() async throws {
        try await withTemporaryDirectory { path in
            let holders = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var most = 0
                        for _ in 0..<200 {
                            guard let claim = try? DirectoryLock.take("s1", in: Directory(path)) else { continue }
                            // Nobody else gets the lock while it is held.
                            if (try? DirectoryLock.take("s1", in: Directory(path))) ?? nil != nil { most = 2 }
                            withExtendedLifetime(claim) {}
                        }
                        return most
                    }
                }
                return await group.reduce(0, max)
            }
            #expect(holders == 0)
            let names = try Directory(path).names()
            #expect(names == [])
        }
    }

    @Test func aClaimsFileSaysWhatItIsAbout() {
        #expect(DirectoryLock.name(ofFile: DirectoryLock.fileName("s.1")) == "s.1")
        for name in ["s1.claim", ".claim", ".s1.zip.new"] { #expect(DirectoryLock.name(ofFile: name) == nil) }
    }
}
