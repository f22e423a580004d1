import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import Archives
@testable import Encryption

/// Extraction accepts only files that match the manifest, and writes nothing outside its target directory.
@Suite(.timeLimit(.minutes(1)))
struct ExtractionTests {
    private static let date = WallTime(nanosecondsSince1970: 1_795_219_201_000_000_000)

    /// Writes a zip of files, with a manifest of some of them.
    private func write(
        _ files: [(name: String, bytes: [UInt8])], listed: [(name: String, bytes: [UInt8])]? = nil, to path: FilePath
    ) throws {
        let sink = MemorySink()
        let writer = ZipWriter(to: sink)
        for file in files { try writer.add(file.name, date: Self.date, from: GeneratedSource(file.bytes)) }
        let metadata = ArchiveMetadata(
            deviceInfo: "phone", appVersion: "1", rsdFrameworkVersion: "1", taskIdentifier: "t", taskRunUUID: "u",
            startDate: Self.date, endDate: Self.date, session: "s", status: "finished",
            files: (listed ?? files).map {
                ArchiveMetadata.File(
                    filename: $0.name, timestamp: Self.date, contentType: "text/plain", bytes: $0.bytes.count,
                    sha256: SHA256Digits.of($0.bytes))
            })
        try writer.add("metadata.json", date: Self.date, from: GeneratedSource(StoredJSON.document(metadata)))
        try writer.finish()
        try Data(sink.bytes).write(to: URL(filePath: path.string))
    }

    @Test(arguments: ["../evil", "/tmp/holdfast-evil", "a/b", "a/../../evil", "..", ".", "./x"])
    func nothingEscapes(name: String) throws {
        try withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try write([("good", [1]), (name, [2])], to: archive)
            let error = try #require(throws: ArchiveError.self) {
                try ArchiveExtraction.extract(archive, to: directory.appending("x/out"))
            }
            #expect(error.code == .damaged)
            #expect(try Directory(directory).names().sorted() == ["a.zip", "x"])
            #expect(try Directory(directory.appending("x")).names() == [])
            #expect(!FileManager.default.fileExists(atPath: "/tmp/holdfast-evil"))
        }
    }

    /// A link is not created, so its target cannot be followed.
    @Test(.enabled(if: Tool.exists("python3"))) func linksAreNoLinks() async throws {
        let program = """
            import sys, zipfile
            z = zipfile.ZipFile(sys.argv[1], "w")
            link = zipfile.ZipInfo("link"); link.create_system = 3; link.external_attr = 0o120777 << 16
            z.writestr(link, "/etc"); z.writestr("link/passwd", "x"); z.close()
            """
        try await withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try await Tool.output(of: "python3", ["-c", program, archive.string])
            #expect(throws: ArchiveError.self) {
                try ArchiveExtraction.extract(archive, to: directory.appending("out"))
            }
            #expect(try Directory(directory).names() == ["a.zip"])
        }
    }

    @Test func missingAdditionalAndChangedFilesAreNamed() throws {
        try withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try write(
                [("same", [1]), ("changed", [1, 2]), ("longer", [1, 2, 3]), ("additional", [])],
                listed: [("same", [1]), ("changed", [3, 4]), ("longer", [1]), ("missing", [])], to: archive)
            let opened = try ArchiveExtraction.extract(archive, to: directory.appending("out"))
            #expect(
                opened.findings.map(\.description) == [
                    "changed: does not match the manifest: its SHA-256 differs",
                    "longer: has 3 bytes in place of 1", "missing: is missing", "additional: is not in the manifest",
                ])
            #expect(try Directory(directory).names() == ["a.zip"])
        }
    }

    @Test func whatIsThereIsNotOverwritten() throws {
        try withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try write([("a", [1])], to: archive)
            let out = Directory(directory.appending("out"))
            try out.create()
            #expect(try ArchiveExtraction.extract(archive, to: out.path).findings == [])
            let error = try #require(throws: ArchiveError.self) { try ArchiveExtraction.extract(archive, to: out.path) }
            #expect(error.code == .alreadyExists)
            #expect(try out.names().sorted() == ["a", "metadata.json"])
        }
    }

    /// Flips bits in file contents, in the zip's directory and at its end; dates are left out, because they do not
    /// affect a file.
    @Test func damageIsFound() throws {
        try withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try write([("a", Array(repeating: 5, count: 900)), ("b", (0..<200).map { $0 &* 37 })], to: archive)
            let whole = try Data(contentsOf: URL(filePath: archive.string))
            #expect(try OpenedArchive.verify(archive).findings == [])
            for length in 0..<whole.count {
                try whole.prefix(length).write(to: URL(filePath: archive.string))
                #expect(!isWhole(archive), "cut to \(length)")
            }
            try (whole + [0]).write(to: URL(filePath: archive.string))
            #expect(!isWhole(archive))
            let names = try #require(whole.lastRange(of: Data("b".utf8)))
            // Method, size and place, which only programs that read the directory need.
            let header = try #require(whole.lastRange(of: Data([0x50, 0x4B, 1, 2]))).lowerBound
            let places = [15, 30, 44, names.lowerBound, whole.count - 10, whole.count - 5]
            let headerPlaces = [10, 20, 42].map { header + $0 }
            for place in places + headerPlaces {
                var flipped = whole
                flipped[place] ^= 4
                try flipped.write(to: URL(filePath: archive.string))
                #expect(!isWhole(archive), "byte \(place)")
            }
        }
    }

    /// A name from somebody else's archive could otherwise move the terminal's cursor.
    @Test func controlCharactersInNamesAreShownEscaped() async throws {
        try await withTemporaryDirectory { directory in
            try write([("a\u{1B}[2J", [1])], listed: [], to: directory.appending("a.zip"))
            let (end, output) = try await ProgramUnderTest.run(
                "archiver", arguments: ["verify", "a.zip"], in: directory
            ) { program in
                let end = try await program.end()
                return (end, program.standardOutput + program.standardError)
            }
            #expect(end == .exited(1), "\(output)")
            #expect(output.contains(#"a\u{1B}[2J: is not in the manifest"#), "\(output)")
            #expect(!output.contains("\u{1B}"))
        }
    }

    private func isWhole(_ archive: FilePath) -> Bool {
        guard let opened = try? OpenedArchive.verify(archive) else { return false }
        return opened.findings.isEmpty
    }

    @Test(arguments: [[], Array("PK".utf8), Array("hello".utf8), [0x30, 0x80], Array(repeating: 0x30, count: 400)])
    func whatIsNoArchiveIsSaid(bytes: [UInt8]) throws {
        try withTemporaryDirectory { directory in
            let archive = directory.appending("a.zip")
            try Data(bytes).write(to: URL(filePath: archive.string))
            let error = try #require(throws: ArchiveError.self) { try OpenedArchive.verify(archive) }
            #expect([.damaged, .wrongKey].contains(error.code))
        }
    }
}
