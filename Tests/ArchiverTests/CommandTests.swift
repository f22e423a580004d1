import ArchiveStorage
import Archives
import Files
import FoundationEssentials
import Glibc
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// The subcommands, as people and scripts use them.
@Suite(.timeLimit(.minutes(1)))
struct CommandTests {
    /// Makes the C library overwrite freed memory (mallopt(3), M_PERTURB), so that a program that still reads it fails.
    private static let overwritingFreed = ["GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=85"]

    private func run(_ arguments: [String], in directory: FilePath) async throws -> (ProgramEnd, String) {
        try await ProgramUnderTest.run(
            "archiver", arguments: arguments, environment: Self.overwritingFreed, in: directory
        ) { program in
            let end = try await program.end()
            return (end, program.standardOutput + program.standardError)
        }
    }

    @Test(.enabled(if: Tool.exists("openssl")), arguments: ["rsa", "ec"])
    func anEncryptedArchiveIsMadeVerifiedAndExtracted(kind: String) async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let (certificate, key) = try await TestKeys(in: data).make("study", kind: kind)
            var (end, output) = try await run(
                ["create", "recordings/s1", "--certificate", certificate.string], in: data)
            #expect(end == .exited(0), "\(output)")
            for command in [["verify"], ["extract", "--to", "extracted"]] {
                (end, output) = try await run(command + ["archives/s1.zip.p7m", "--key", key.string], in: data)
                #expect(end == .exited(0), "\(output)")
            }
        }
    }

    /// An archive that an archiver has recorded is delivered by its hash: other bytes must never replace it.
    @Test func anArchiveThatWaitsForItsUploadIsNotReplaced() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let record = ArchiveRecord(
                session.record.session, made: try session.archive(), logs: session.record.logs.map(\.name), date: .now)
            let archives = ArchiveDirectory(data)
            try archives.write(record)
            let before = try session.archives.read("s1.zip")
            let create = ["create", "recordings/s1", "--bridge-info"]
            var (end, output) = try await run(create, in: data)
            #expect(end == .exited(74), "\(output)")
            #expect(output.contains("archive.create") && output.contains("--to"), "\(output)")
            #expect(try session.archives.read("s1.zip") == before)
            (end, output) = try await run(create + ["--to", "other"], in: data)
            #expect(end == .exited(0), "\(output)")
            // Simulates that the receiver has the archive.
            try Directory.removeFile(session.archives.path.appending("s1.archive.json"))
            try Data("{}".utf8).write(to: URL(filePath: session.archives.path.appending("s1.receipt.json").string))
            (end, output) = try await run(create, in: data)
            #expect(end == .exited(0), "\(output)")
            #expect(try session.archives.read("s1.zip") != before)
        }
    }

    /// An archive made by hand has no record.
    @Test func anArchiveWithTheOnlyCopyOfARemovedFileIsNotReplaced() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let create = ["create", "recordings/s1"]
            var (end, output) = try await run(create, in: data)
            #expect(end == .exited(0), "\(output)")
            let before = try session.archives.read("s1.zip")
            try session.removeFile()
            (end, output) = try await run(create, in: data)
            #expect(end == .exited(74), "\(output)")
            #expect(output.contains("only copy of 1 removed file") && output.contains("--to"), "\(output)")
            #expect(try session.archives.read("s1.zip") == before)
            (end, output) = try await run(create + ["--to", "other"], in: data)
            #expect(end == .exited(0), "\(output)")
        }
    }

    @Test func theDirectoryOfTheArchivesIsNoReceiver() async throws {
        try await withTemporaryDirectory { data in
            let archives = data.appending("archives")
            try Directory(archives).create()
            let link = data.appending("link")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: archives.string)
            for place in [archives, link] {
                let check = ["--data", data.string, "--check", "--upload-to", "file://\(place)"]
                let (end, output) = try await run(check, in: data)
                #expect(end == .exited(78), "\(output)")
                #expect(output.contains("name another directory"), "\(output)")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func rootMakesAnArchiveForTheOwnerOfTheDataDirectory() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            #expect(chown(data.string, 65_533, 65_534) == 0)
            let (end, output) = try await run(["create", "recordings/s1"], in: data)
            #expect(end == .exited(0), "\(output)")
            for path in [session.archives.path, session.archives.path.appending("s1.zip")] {
                let status = try path.stat()
                #expect([status.userID.rawValue, status.groupID.rawValue] == [65_533, 65_534], "\(path)")
            }
        }
    }

    /// A running archiver still uploads archives that it made earlier.
    @Test func anExpiredCertificateIsRefusedWhereItIsNeeded() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let certificate = ["--certificate", try TestKeys(in: data).writeExpired().string]
            for arguments in [["create", "recordings/s1"], ["--data", data.string, "--check"]] {
                let (end, output) = try await run(arguments + certificate, in: data)
                #expect(end == .exited(78), "\(output)")
                #expect(output.contains("expired"), "\(output)")
            }
        }
    }

    @Test func anArchiveIsMadeVerifiedAndExtracted() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            var (end, output) = try await run(["create", "recordings/s1"], in: data)
            #expect(end == .exited(0), "\(output)")
            #expect(output.contains("not encrypted"))
            (end, output) = try await run(["verify", "archives/s1.zip"], in: data)
            #expect(end == .exited(0), "\(output)")
            #expect(output.hasSuffix("whole\n"))
            (end, output) = try await run(["extract", "archives/s1.zip"], in: data)
            #expect(end == .exited(0), "\(output)")
            #expect(FileManager.default.fileExists(atPath: data.appending("s1/metadata.json").string))
            (end, output) = try await run(["extract", "archives/s1.zip"], in: data)
            #expect(end == .exited(74), "\(output)")
            // A running archiver in this directory would write the same file.
            do {
                let claim = try #require(try DirectoryLock.take("s1", in: session.archives))
                (end, output) = try await run(["create", "recordings/s1"], in: data)
                withExtendedLifetime(claim) {}
            }
            #expect(end == .exited(74), "\(output)")
            #expect(output.contains("is working on session"))
            try session.add("link", [])
            try FileManager.default.removeItem(atPath: session.path("link").string)
            try FileManager.default.createSymbolicLink(
                atPath: session.path("link").string, withDestinationPath: "nowhere")
            (end, output) = try await run(["create", "recordings/s1", "--to", "other"], in: data)
            #expect(end == .exited(1), "\(output)")
            (end, output) = try await run(
                ["create", "recordings/s1", "--to", "other", "--continue-on-failure"], in: data)
            #expect(end == .exited(3), "\(output)")
            (end, output) = try await run(["verify", "other/s1.zip"], in: data)
            #expect(end == .exited(3), "\(output)")
            (end, output) = try await run(["create", "recordings/s1", "--certificate", "recordings"], in: data)
            #expect(end == .exited(78), "\(output)")
            (end, output) = try await run(["verify", "nowhere.zip"], in: data)
            #expect(end == .exited(74), "\(output)")
            (end, output) = try await run(["create", "nowhere"], in: data)
            #expect(end == .exited(74), "\(output)")
        }
    }
}
