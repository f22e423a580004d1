import Testing

@testable import Archives
@testable import Encryption

@Suite struct ArchiveNamesTests {
    private func names(_ files: [String]) throws -> [String] {
        var names = ArchiveNames(reserved: GeneratedFile.names(ArchiveChoices()))
        return try files.map { try names.name(for: $0) }
    }

    @Test func aFileKeepsItsName() throws {
        let files = ["a.json", "gånge 🚶.csv", "a..b", "SHA256SUMS", "answers.csv"]
        #expect(try names(files) == files)
    }

    @Test func case64NameCollisionsGetASuffix() throws {
        let names = try names(["Walk.json", "walk.json", "a\\b.txt", "a_b.txt", "A:b.txt", "line\nbreak"])
        #expect(names[0] == "Walk.json")
        #expect(names[1].wholeMatch(of: /walk-[0-9a-f]{4}\.json/) != nil)
        #expect(names[2] == "a_b.txt")
        #expect(names[5] == "line_break")
        #expect(Set(names.map { $0.lowercased() }).count == names.count)
        // The names are the same in every run.
        #expect(try self.names(["Walk.json", "walk.json"])[1] == names[1])
    }

    @Test(arguments: ["answers.json", "taskResult.json", "metadata.json", "Metadata.JSON"])
    func case64ReservedNamesAreRefused(name: String) throws {
        let error = try #require(throws: ArchiveError.self) { try names(["a.json", name]) }
        #expect(error.code == .invalidParameter)
        #expect(error.file == name)
    }
}
