import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Archives
@testable import Encryption

/// The zip format, checked with independent programs.
@Suite(.timeLimit(.minutes(2)))
struct ZipWriterTests {
    private static let date = WallTime(nanosecondsSince1970: 1_795_219_201_000_000_000)

    /// One file for each way in which the writer stores files.
    private static let files: [(name: String, bytes: [UInt8])] = {
        var random = SplitMix(seed: 7)
        func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
        let text = Array("0.125,0.25,-0.5\n".utf8)
        return [
            ("empty", []), ("one byte", [7]), ("small.csv", Array(repeatElement(text, count: 99).joined())),
            ("noise", noise(5_000)), ("exactly a piece", Array(repeating: 9, count: ZipWriter.trialSize)),
            ("gånge 🚶 två.csv", Array(repeatElement(text, count: 150_000).joined())),
            ("much noise", noise(ZipWriter.trialSize + 70_000)),
            ("piece and a byte", Array(repeating: 9, count: ZipWriter.trialSize + 1)),
        ]
    }()

    private static func zip(_ files: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
        let sink = MemorySink()
        let writer = ZipWriter(to: sink)
        for file in files { try writer.add(file.name, date: date, from: GeneratedSource(file.bytes)) }
        try writer.finish()
        return sink.bytes
    }

    private func withZip(_ bytes: [UInt8], _ body: (FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("a.zip")
            try Data(bytes).write(to: URL(filePath: path.string))
            try await body(path)
        }
    }

    @Test func theSameFilesGiveTheSameBytes() throws {
        #expect(try Self.zip(Self.files) == Self.zip(Self.files))
    }

    @Test func whatDoesNotShrinkIsStored() throws {
        let sizes = Dictionary(uniqueKeysWithValues: Self.files.map { ($0.name, $0.bytes.count) })
        for (name, isStored) in ["noise": true, "much noise": true, "small.csv": false, "exactly a piece": false] {
            let size = try Self.zip(Self.files.filter { $0.name == name }).count
            #expect((size > (sizes[name] ?? 0)) == isStored, "\(name): \(size)")
        }
    }

    @Test(.enabled(if: Tool.exists("unzip"))) func unzipReadsIt() async throws {
        try await withZip(Self.zip(Self.files)) { path in
            let output = try await Tool.output(of: "unzip", ["-t", path.string])
            #expect(output.contains("No errors detected"))
            for file in Self.files where file.name.utf8.allSatisfy({ $0 < 0x80 }) {
                #expect(output.contains(file.name))
            }
        }
    }

    @Test(.enabled(if: Tool.exists("python3"))) func pythonReadsIt() async throws {
        let program = """
            import sys, zipfile, hashlib
            z = zipfile.ZipFile(sys.argv[1])
            assert z.testzip() is None
            for i in z.infolist():
                assert i.date_time == (2026, 11, 21, 0, 0, 0), i.date_time
                print(i.filename + "=" + hashlib.sha256(z.read(i)).hexdigest())
            """
        try await withZip(Self.zip(Self.files)) { path in
            let output = try await Tool.output(of: "python3", ["-X", "utf8", "-c", program, path.string])
            #expect(
                output.split(separator: "\n").map(String.init)
                    == Self.files.map { "\($0.name)=\(SHA256Digits.of($0.bytes))" })
        }
    }

    @Test(.enabled(if: Tool.exists("bsdtar"))) func bsdtarReadsItFromAFileAndFromAPipe() async throws {
        try await withZip(Self.zip(Self.files)) { path in
            for command in ["bsdtar -xOf \"$0\" | sha256sum", "bsdtar -xOf - < \"$0\" | sha256sum"] {
                let output = try await Tool.output(
                    of: "sh", ["-c", "LC_ALL=C.UTF-8; export LC_ALL; \(command)", path.string])
                #expect(output.hasPrefix(SHA256Digits.of(Self.files.flatMap(\.bytes))), "\(command)")
            }
        }
    }

    /// More files than the classic zip directory can count.
    @Test(.enabled(if: Tool.exists("python3") && Tool.exists("unzip"))) func aHundredThousandFiles() async throws {
        let files = (0..<100_000).map { ("file \($0)", [UInt8]()) }
        try await withZip(Self.zip(files)) { path in
            let program = """
                import sys, zipfile
                z = zipfile.ZipFile(sys.argv[1])
                print(len(z.infolist()), z.infolist()[99999].filename)
                """
            let python = try await Tool.output(of: "python3", ["-c", program, path.string])
            #expect(python == "100000 file 99999\n")
            let unzip = try await Tool.output(of: "unzip", ["-l", path.string])
            #expect(unzip.contains("100000 files"))
            #expect(try ZipDirectory(ArchiveInput(path)).entries.count == 100_000)
        }
    }

    /// Numbers beyond four bytes, without gigabytes of data.
    @Test func largeEntriesHaveTheirNumbersInExtraFields() {
        var entry = ZipEntry(name: "a", date: Self.date, method: .deflated, offset: 5_000_000_000)
        entry.isDescribedBehind = true
        entry.isLarge = true
        entry.bytes = 6_000_000_000
        entry.compressedBytes = 4_500_000_000
        #expect(entry.dataDescriptor.count == 24)
        #expect(Array(entry.localHeader[18..<26]) == Array(repeating: 0xFF, count: 8))
        let header = entry.centralHeader
        #expect(Array(header[20..<28]) == Array(repeating: 0xFF, count: 8))
        let extra = LittleEndianBytes(Array(header[47...]))
        #expect(extra?.number(0, 2) == 1)
        #expect(extra?.number(2, 2) == 24)
        #expect(extra?.number(4, 8) == 6_000_000_000)
        #expect(extra?.number(12, 8) == 4_500_000_000)
        #expect(extra?.number(20, 8) == 5_000_000_000)
        entry.isLarge = false
        entry.bytes = 10
        entry.compressedBytes = 5
        #expect(entry.dataDescriptor.count == 16)
    }
}
