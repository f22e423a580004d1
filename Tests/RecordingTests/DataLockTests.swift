import Files
import FoundationEssentials
import Glibc
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DataLockTests {
    @Test func aSecondOneIsRefusedUntilTheFirstIsGone() throws {
        try withTemporaryDirectory { data in
            let path = data.path.appending("data")
            let other = try DataLock.acquire(in: data.path.appending("other"))
            for _ in 0..<3 {
                let lock = try DataLock.acquire(in: path)
                let error = try #require(throws: RecordingError.self) { try DataLock.acquire(in: path) }
                #expect(error.code == .locked)
                #expect(
                    error.description
                        == "Could not use data directory \(path): a recorder uses it (process \(getpid())). "
                        + "Stop that recorder, or choose another data directory.")
                withExtendedLifetime(lock) {}
            }
            withExtendedLifetime(other) {}
            #expect(try SessionDirectory.sessions(in: path).isEmpty)
        }
    }

    /// A lock file left by an earlier process has no effect.
    @Test func theLastProcessIsNamed() throws {
        try withTemporaryDirectory { data in
            let path = data.path.appending("recordings/.lock")
            try Directory(data.path.appending("recordings")).create()
            try Data("4194304999\n".utf8).write(to: URL(filePath: path.string))
            let lock = try DataLock.acquire(in: data.path)
            #expect(try text(of: path) == "\(getpid())\n")
            withExtendedLifetime(lock) {}
        }
    }

    @Test func aDirectoryThatCannotBeMadeIsAnError() throws {
        try withTemporaryDirectory { data in
            try Data().write(to: URL(filePath: data.path.appending("recordings").string))
            let error = try #require(throws: RecordingError.self) { try DataLock.acquire(in: data.path) }
            #expect(error.code != .locked)
        }
    }
}
