import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TemporaryDirectoryTests {
    private struct Expected: Error {}

    private static func exists(_ path: FilePath) -> Bool { FileManager.default.fileExists(atPath: path.string) }

    private static func fill(_ directory: FilePath) throws {
        let folder = directory.appending("folder").string
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data([1]).write(to: URL(filePath: folder + "/file"))
    }

    @Test func eachDirectoryIsAnotherOne() throws {
        try withTemporaryDirectory { first in
            try withTemporaryDirectory { second in
                #expect(first != second)
                #expect(Self.exists(first) && Self.exists(second))
            }
        }
    }

    @Test func itIsGoneWithAllThatIsInIt() throws {
        let directory = try withTemporaryDirectory { directory in
            try Self.fill(directory)
            return directory
        }
        #expect(!Self.exists(directory))
    }

    @Test func itIsGoneAfterAnErrorToo() async throws {
        var directory: FilePath?
        await #expect(throws: Expected.self) {
            try await withTemporaryDirectory { path in
                directory = path
                try Self.fill(path)
                await Task.yield()
                throw Expected()
            }
        }
        #expect(!Self.exists(try #require(directory)))
    }
}
