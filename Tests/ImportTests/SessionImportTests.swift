import Archives
import Export
import Files
import Foundation
import Import
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Imported files become sessions that pass verification.
@Suite(.timeLimit(.minutes(2)))
struct SessionImportTests {
    private static let start = "2026-11-21T10:00:00.000000Z"

    private static func seconds(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { GT3XFile.packed(GT3XFile.start + UInt32($0), GT3XFile.samples($0)) }
    }

    private static func gt3x(_ log: [UInt8], _ info: String = GT3XFile.info(zone: nil)) -> [UInt8] {
        StoredZip([("log.bin", log), ("info.txt", Array(info.utf8))]).bytes
    }

    @Test func anAxivityFileBecomesASession() throws {
        try withTemporaryDirectory { directory in
            var blocks = CWAFile.blocks(20) { sample, column in Int16(sample + column) }
            blocks.remove(at: 5)
            var bytes = CWAFile.header(annotation: "_n=pilot") + blocks.flatMap(\.bytes)
            bytes[1024 + 10 * 512 + 77] ^= 1
            let imported = try Imported("walk 1.cwa", bytes, in: directory)
            #expect(imported.outcome.session.text == "walk-1")
            #expect(imported.verdict == .loss)
            let stream = try #require(imported.record.logs.first)
            #expect(stream.counts.written == 18 * 80)
            #expect(stream.gaps.map(\.count) == [80, 80])
            #expect(stream.gaps.map(\.reason) == [.notInSource, .malformed])
            #expect(stream.gaps.map(\.from) == [400, 880])
            let failure = "1 blocks are damaged or not of this recording, the first at byte 6144"
            #expect(imported.record.failures == [failure])
            #expect(stream.unit == "g")
            #expect(stream.rate == 100)
            #expect(stream.origin == .measured)
            #expect(imported.record.startDate.utcText == Self.start)
            let rows = try imported.rows()
            #expect(rows.count == 1440)
            #expect(rows[0] == ["0", "0", "0.00390625", "0.0078125"])
            #expect(imported.outcome.report.isWhole == false)
            guard case .object(let keys)? = imported.record.otherKeys["import"] else { throw TestFailure("no keys") }
            #expect(keys["kind"] == .string("axivity"))
            #expect(keys["file"] == .string("walk 1.cwa"))
            #expect(keys["zone"] == .string("+00:00, assumed"))
            #expect(keys["bytes"] == .integer(bytes.count))
        }
    }

    @Test(arguments: LogFormat.allCases)
    func everyFormatOfStreamFilesVerifies(_ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let blocks = CWAFile.blocks(30, of: 40, layout: 0x62, columns: 6) { sample, column in Int16(sample * column)
            }
            let bytes = CWAFile.header(hardware: 0x64) + blocks.flatMap(\.bytes)
            let imported = try Imported("a.cwa", bytes, in: directory) { options in
                options.format = format
                // So that each stream has several files.
                options.maximumFileSize = 20_000
                options.task = "Walk"
                options.device = "left-wrist"
            }
            #expect(imported.verdict == .whole)
            #expect(imported.record.logs.map(\.counts.written) == [1200, 1200])
            #expect(imported.record.logs.allSatisfy { $0.files.count > 1 })
            #expect(imported.record.logs.map(\.device) == ["left-wrist", "left-wrist"])
            #expect(try imported.rows(of: 1).count == 1200)
        }
    }

    @Test func aCompressedAxivityFileIsTheSame() throws {
        try withTemporaryDirectory { directory in
            let bytes = CWAFile.header() + CWAFile.blocks(3) { sample, _ in Int16(sample) }.flatMap(\.bytes)
            let plain = try Imported("a.cwa", bytes, in: directory)
            let compressed = try Imported("b.cwa.gz", gzipStored(bytes), in: directory)
            #expect(try plain.rows() == compressed.rows())
            #expect(compressed.outcome.session.text == "b")
        }
    }

    /// 3 s of samples, a sleep until 100 s, and one more second.
    private static func sleep() -> [UInt8] {
        seconds(3) + GT3XFile.asleep(GT3XFile.start + 3) + GT3XFile.awake(GT3XFile.start + 100)
            + GT3XFile.packed(GT3XFile.start + 100, GT3XFile.samples(7))
    }

    @Test func anActiGraphFileBecomesASession() throws {
        try withTemporaryDirectory { directory in
            let imported = try Imported("a.gt3x", Self.gt3x(Self.sleep(), GT3XFile.info()), in: directory)
            #expect(imported.verdict == .whole)
            // The device's clock is five hours behind UTC.
            #expect(imported.record.startDate.utcText == "2026-11-21T15:00:00.000000Z")
            #expect(imported.record.pauses == [SessionRecord.Pause(from: 3, to: 100)])
            #expect(imported.record.logs.first?.counts.written == 120)
            let rows = try imported.rows()
            let first = Double(GT3XFile.samples(7)[0][0]) / 256
            #expect(rows[90] == ["100", "\(first)", "0", "1"])
        }
    }

    /// The device's sleep is a pause, in which no samples were taken.
    @Test func anExportListsItsSleep() throws {
        try withTemporaryDirectory { directory in
            let imported = try Imported("a.gt3x", Self.gt3x(Self.sleep(), GT3XFile.info()), in: directory)
            func text(_ format: SessionExport.Format, _ ending: String) throws -> String {
                let out = directory.appending("\(format)")
                let outcome = try SessionExport(
                    imported.directory, SessionExport.Options(format: format), version: "0"
                ).run(to: out) { _, _, _ in }
                #expect(!outcome.hasLoss)
                let name = try #require(outcome.files.first { $0.hasSuffix(ending) })
                return try String(contentsOf: URL(filePath: out.appending(name).string), encoding: .utf8)
            }
            let gaps = try text(.csv, "gaps.tsv").split(separator: "\n")
            #expect(gaps.count == 2)
            #expect(gaps.last?.contains("\t2026-11-21 15:01:40.000000000Z\tpaused\t") == true)
            #expect(try text(.bids, "_motion.json").contains("\"discontinuous\""))
        }
    }

    @Test func itsArchiveHasEverything() throws {
        try withTemporaryDirectory { directory in
            let imported = try Imported("a.gt3x", Self.gt3x(Self.seconds(5)), in: directory)
            let archives = Directory(directory.appending("archives"))
            let made = try SessionArchiver().archive(imported.directory, to: archives, at: .now)
            #expect(made.map(\.name) == ["a.zip"])
            let opened = try OpenedArchive.verify(archives.path.appending("a.zip"))
            #expect(opened.findings.isEmpty)
            // The stream's file, the report and the manifest.
            #expect(opened.files >= 3)
            #expect(made.first?.metadata.keys == imported.record.keys)
        }
    }

    @Test func theSameFileGivesTheSameBytes() throws {
        try withTemporaryDirectory { directory in
            let bytes = Self.gt3x(Self.seconds(5))
            let one = try Imported("a.gt3x", bytes, in: directory.appending("1"))
            let two = try Imported("a.gt3x", bytes, in: directory.appending("2"))
            #expect(try one.files == two.files)
            #expect(try one.files.count == 4)
        }
    }

    @Test func aSessionThatExistsIsRefused() throws {
        try withTemporaryDirectory { directory in
            let bytes = Self.gt3x(Self.seconds(5))
            let one = try Imported("a.gt3x", bytes, in: directory)
            let files = try one.files
            let error = #expect(throws: RecordingError.self) { try Imported("a.gt3x", bytes, in: directory) }
            #expect(error?.code == .alreadyExists)
            #expect(error.map { "\($0)".contains("--session") } == true)
            #expect(try one.files == files)
            let other = try Imported("a.gt3x", bytes, in: directory) { $0.session = try? SessionIdentifier("b") }
            #expect(other.verdict == .whole)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func rootImportsASessionForTheOwnerOfTheOthers() throws {
        try withTemporaryDirectory { directory in
            let bytes = Self.gt3x(Self.seconds(5))
            let data = Directory(directory.appending("data"))
            try data.create()
            try data.give(to: 65_533, 65_534)
            let first = try Imported("a.gt3x", bytes, in: directory)
            let recordings = SessionDirectory.recordings(in: data.path)
            #expect(try recordings.owners == [[65_533, 65_534]])
            #expect(try first.directory.directory.owners == [[65_533, 65_534]])
            // The sessions' owner need not be that of the data directory.
            try recordings.give(to: 65_532, 65_532)
            let second = try Imported("b.gt3x", bytes, in: directory)
            #expect(try second.directory.directory.owners == [[65_532, 65_532]])
        }
    }

    @Test func aFileThatCannotBeReadLeavesNothing() throws {
        try withTemporaryDirectory { (directory: FilePath) throws -> Void in
            var damaged = Self.gt3x(Self.seconds(200))
            damaged[5000] ^= 1
            let huge = StoredZip("log.bin", Self.seconds(2), bytesSaid: 0xFFFF_FFF0).bytes
            let uncalibrated = [
                ("log.bin", Self.seconds(1)), ("info.txt", Array(GT3XFile.info().utf8)),
                ("calibration.json", Array("{\"isCalibrated\": false}".utf8)),
            ]
            let long = [("log.bin", []), ("info.txt", [UInt8](repeating: 65, count: 2 << 20))]
            let recording = CWAFile.header() + CWAFile.Block(samples: [[0, 0, 0]]).bytes
            let files: [(String, [UInt8])] = [
                ("empty.cwa", []), ("zeros.cwa", [UInt8](repeating: 0, count: 4096)), ("header.cwa", CWAFile.header()),
                ("text.zip", StoredZip([("readme.txt", [65])]).bytes),
                ("noinfo.gt3x", StoredZip([("log.bin", [])]).bytes),
                ("old.gt3x", StoredZip([("activity.bin", []), ("info.txt", [])]).bytes),
                ("cut.gt3x", Array(damaged.prefix(9000))), ("crc.gt3x", damaged), ("huge.gt3x", huge),
                ("words.csv", Array("once upon a time\n".utf8)), ("header.csv", Array("time,x\n".utf8)),
                ("numbers.csv", Array("1,2\n3,4\n".utf8)), ("open.json", Array("[{\"sensor\":\"A\"".utf8)),
                ("object.json", Array("{\"a\":1}".utf8)), ("cut.cwa.gz", Array(gzipStored(recording).dropLast(100))),
                ("long.gt3x", StoredZip(long).bytes), ("raw.gt3x", Self.gt3x([UInt8](repeating: 0x1E, count: 1000))),
                ("uncalibrated.gt3x", StoredZip(uncalibrated).bytes),
            ]
            for (name, bytes) in files {
                let error = #expect(throws: RecordingError.self, "\(name)") { try Imported(name, bytes, in: directory) }
                #expect(error.map { "\($0)".contains(name) } == true, "\(name): \(error.map { "\($0)" } ?? "")")
            }
            let recordings = SessionDirectory.recordings(in: directory.appending("data"))
            let names = try recordings.names()
            #expect(names.isEmpty, "\(names)")
            #expect(throws: RecordingError.self) {
                try SessionImport(directory, SessionImport.Options(data: directory), version: "0").run()
            }
        }
    }

    /// A killed import's leftovers have no session's name, and do not prevent the next import.
    @Test func anImportThatIsKilledLeavesNoSession() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("a.cwa")
            let blocks = CWAFile.blocks(3000) { sample, _ in Int16(truncatingIfNeeded: sample) }
            let bytes = CWAFile.header() + blocks.flatMap(\.bytes)
            try Data(bytes).write(to: URL(filePath: path.string))
            let data = directory.appending("data")
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [file = path.string as String, place = data.string as String] in
                _ = try SessionImport(
                    FilePath(file), SessionImport.Options(data: FilePath(place)), version: "0"
                ).run { count in if count > 1_000_000 { raise(SIGKILL) } }
            }
            let recordings = SessionDirectory.recordings(in: data)
            #expect(try recordings.names().contains { $0.hasSuffix("~importing") })
            #expect(try SessionDirectory.sessions(in: data).isEmpty)
            let imported = try Imported("a.cwa", bytes, in: directory)
            #expect(imported.verdict == .whole)
            #expect(try recordings.names() == ["a"])
        }
    }

    @Test func twoImportsOfOneNameAreRefused() throws {
        try withTemporaryDirectory { directory in
            let recordings = SessionDirectory.recordings(in: directory.appending("data"))
            try recordings.create()
            let lock = try #require(try DirectoryLock.take("a", in: recordings))
            let error = #expect(throws: RecordingError.self) {
                try Imported("a.gt3x", Self.gt3x(Self.seconds(5)), in: directory)
            }
            #expect(error?.code == .locked)
            withExtendedLifetime(lock) {}
        }
    }
}
