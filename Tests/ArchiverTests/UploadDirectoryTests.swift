import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Upload

@Suite(.timeLimit(.minutes(2))) struct UploadDirectoryTests {
    private func withReceiver(
        bytes: Int = 700_000, _ body: (UploadFile, DirectoryReceiver, FilePath) async throws -> Void
    ) async throws {
        try await withArchive(bytes: bytes) { archive in
            try await withTemporaryDirectory { directory in
                try await body(archive, DirectoryReceiver(directory: directory), directory)
            }
        }
    }

    private func names(in directory: FilePath) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.string)
    }

    @Test(arguments: [0, 1, 700_000]) func aFileIsCopiedAndReadBack(bytes: Int) async throws {
        try await withReceiver(bytes: bytes) { archive, receiver, directory in
            let confirmation = try await upload(archive, to: receiver)
            #expect(confirmation.bytes == bytes && confirmation.sha256 == archive.sha256)
            #expect(confirmation.proof == .readBack && !confirmation.wasThere)
            #expect(try directory.appending(archive.name).content == archive.path.content)
            #expect(try names(in: directory) == [archive.name])
        }
    }

    @Test func whatIsThereIsNotCopiedAgain() async throws {
        try await withReceiver { archive, receiver, directory in
            _ = try await upload(archive, to: receiver)
            let first = try directory.appending(archive.name).stat()
            let again = try await upload(archive, to: receiver)
            #expect(again.wasThere && again.sha256 == archive.sha256)
            #expect(try directory.appending(archive.name).stat().inode == first.inode)
        }
    }

    @Test(arguments: ["other bytes", ""]) func anotherFileIsNotReplaced(content: String) async throws {
        try await withReceiver { archive, receiver, directory in
            let path = directory.appending(archive.name)
            try Data(content.utf8).write(to: URL(filePath: path.string))
            let error = try await failure(archive, to: receiver)
            #expect(error.code == .different && error.retry == .never)
            #expect(try path.content == Data(content.utf8))
            #expect(try names(in: directory) == [archive.name])
        }
    }

    @Test func aLinkIsNotFollowed() async throws {
        try await withReceiver { archive, receiver, directory in
            let path = directory.appending(archive.name)
            try FileManager.default.createSymbolicLink(atPath: path.string, withDestinationPath: archive.path.string)
            let error = try await failure(archive, to: receiver)
            #expect(error.code == .different && error.retry == .never)
        }
    }

    /// Otherwise it would count as uploaded, and then be removed.
    @Test(arguments: [false, true]) func anArchiveIsNoCopyOfItself(overLink: Bool) async throws {
        try await withReceiver { archive, _, directory in
            let own = archive.path.removingLastComponent()
            let link = directory.appending("link")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: own.string)
            let error = try await failure(archive, to: DirectoryReceiver(directory: overLink ? link : own))
            #expect(error.code == .badConfiguration && error.retry == .never)
            #expect(error.description.contains("the archive itself"))
            #expect(try names(in: own) == [archive.name])
        }
    }

    @Test func aShareThatIsNotMountedIsNotMade() async throws {
        try await withReceiver { archive, _, directory in
            let missing = directory.appending("share")
            let error = try await failure(archive, to: DirectoryReceiver(directory: missing))
            #expect(error.code == .notFound && error.retry == .later)
            #expect(error.description.contains("Mount the share"))
            #expect(!FileManager.default.fileExists(atPath: missing.string))
        }
    }

    @Test func leftoversOfAKilledTryGo() async throws {
        try await withReceiver { archive, receiver, directory in
            let host = try String(decoding: FilePath("/proc/sys/kernel/hostname").content, as: UTF8.self).trimmed
                .filter { $0 != "." }
            let name = ".\(archive.name)"
            // In turn: an hour old; of an ended process, since no process has this number; of another machine; of a running
            // process; of another file.
            let old = "\(name).elsewhere.1.a.part"
            let dead = "\(name).\(host).4194999.a.part"
            let elsewhere = "\(name).elsewhere.2.a.part"
            let alive = "\(name).\(host).1.a.part"
            let others = ".other.zip.\(host).4194999.a.part"
            for name in [old, dead, elsewhere, alive, others] {
                try Data("x".utf8).write(to: URL(filePath: directory.appending(name).string))
            }
            for path in [directory.appending(old), directory.appending(others)] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -4000)], ofItemAtPath: path.string)
            }
            _ = try await upload(archive, to: receiver)
            #expect(Set(try names(in: directory)) == [archive.name, elsewhere, alive, others])
        }
    }

    /// Writes a copy as a killed try leaves it: from this machine, of a process that has ended.
    private func leftover(of archive: UploadFile, _ content: Data, in directory: FilePath) throws -> FilePath {
        let host = try String(decoding: FilePath("/proc/sys/kernel/hostname").content, as: UTF8.self).trimmed
            .filter { $0 != "." }
        let path = directory.appending(".\(archive.name).\(host).4194999.a-\(archive.sha256.prefix(16)).part")
        try content.write(to: URL(filePath: path.string))
        return path
    }

    /// Uploads an archive and returns the number of bytes that were copied.
    private func copiedBytes(_ archive: UploadFile, to receiver: DirectoryReceiver) async throws -> Int {
        let throttle = UploadThrottle()
        let confirmation = try receiver.upload(try SourceFile(archive), over: HTTPConnection(HTTPOptions()), throttle)
        #expect(confirmation.sha256 == archive.sha256 && !confirmation.wasThere)
        return throttle.sentBytes
    }

    @Test(arguments: [1, 256 << 10, 300_001, 699_999, 700_000]) func aCopyThatWasInterruptedIsContinued(begun: Int)
        async throws
    {
        try await withReceiver { archive, receiver, directory in
            let content = try archive.path.content
            // A shorter copy goes too, and so does one of an archive that was remade since.
            let short = try leftover(of: archive, content.prefix(begun - 1), in: directory)
            try FileManager.default.moveItem(atPath: short.string, toPath: "\(short)".replacing(".a-", with: ".b-"))
            let other = try leftover(of: archive, content, in: directory)
            try FileManager.default.moveItem(
                atPath: other.string, toPath: "\(other)".replacing(archive.sha256.prefix(16), with: "0123456789abcdef"))
            _ = try leftover(of: archive, content.prefix(begun), in: directory)
            #expect(try await copiedBytes(archive, to: receiver) == archive.bytes - begun)
            #expect(try directory.appending(archive.name).content == content)
            #expect(try names(in: directory) == [archive.name])
        }
    }

    /// Writes a copy as a replaced container leaves it: from another host name.
    private func leftoverElsewhere(of archive: UploadFile, _ content: Data, age: TimeInterval, in directory: FilePath)
        throws
    {
        let path = directory.appending(".\(archive.name).elsewhere.1.a-\(archive.sha256.prefix(16)).part").string
        try content.write(to: URL(filePath: path))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path)
    }

    @Test func aCopyOfAnotherContainerIsContinued() async throws {
        try await withReceiver { archive, receiver, directory in
            let content = try archive.path.content
            try leftoverElsewhere(of: archive, content.prefix(300_001), age: 600, in: directory)
            #expect(try await copiedBytes(archive, to: receiver) == archive.bytes - 300_001)
            #expect(try directory.appending(archive.name).content == content)
            #expect(try names(in: directory) == [archive.name])
        }
    }

    /// Its writer may still be running, but once the file exists the copy is useless.
    @Test(arguments: [false, true]) func aFreshCopyOfAnotherContainerGoesOnceTheFileIsThere(wasThere: Bool) async throws
    {
        try await withReceiver { archive, receiver, directory in
            let content = try archive.path.content
            if wasThere { try content.write(to: URL(filePath: directory.appending(archive.name).string)) }
            // Setting the clock back makes the copy no older.
            try leftoverElsewhere(of: archive, content.prefix(300_001), age: -3600, in: directory)
            if wasThere {
                #expect(try await upload(archive, to: receiver).wasThere)
            } else {
                #expect(try await copiedBytes(archive, to: receiver) == archive.bytes)
            }
            #expect(try names(in: directory) == [archive.name])
        }
    }

    /// After a power cut, unsynced bytes may have any value.
    @Test func whatWasCopiedWronglyIsCopiedAnew() async throws {
        try await withReceiver { archive, receiver, directory in
            var content = try archive.path.content
            let whole = content
            content[250_000] ^= 1
            _ = try leftover(of: archive, content.prefix(300_000), in: directory)
            #expect(try await copiedBytes(archive, to: receiver) == 400_000 + archive.bytes)
            #expect(try directory.appending(archive.name).content == whole)
            #expect(try names(in: directory) == [archive.name])
        }
    }

    /// A cancelled try leaves its partial copy, and this process's next try continues behind it.
    @Test func aCopyThatWasCancelledIsContinued() async throws {
        try await withReceiver { archive, receiver, directory in
            // At this rate, the copy would take minutes.
            let throttle = UploadThrottle(limit: BandwidthLimit(bytesPerSecond: 1_000))
            let copying = Task.detached {
                try receiver.upload(try SourceFile(archive), over: HTTPConnection(HTTPOptions()), throttle)
            }
            try await eventually("something was copied") { throttle.sentBytes > 0 }
            throttle.cancel()
            await #expect(throws: UploadError.cancelled(at: receiver.location(of: archive.name))) {
                try await copying.value
            }
            let left = try #require(try names(in: directory).first)
            let begun = Int(try directory.appending(left).stat().size)
            #expect(begun > 0 && begun < archive.bytes)
            #expect(try await copiedBytes(archive, to: receiver) == archive.bytes - begun)
            #expect(try names(in: directory) == [archive.name])
        }
    }

    @Test func anArchiveThatChangedIsNotConfirmed() async throws {
        try await withReceiver { archive, receiver, directory in
            var bytes = try archive.path.content
            bytes[300_000] ^= 1
            try bytes.write(to: URL(filePath: archive.path.string))
            let error = try await failure(archive, to: receiver)
            #expect(error.code == .corrupted)
            try Data(bytes.dropLast()).write(to: URL(filePath: archive.path.string))
            let shorter = try await failure(archive, to: receiver)
            #expect(shorter.code == .unreadable && shorter.retry == .never)
            try FileManager.default.removeItem(atPath: archive.path.string)
            let gone = try await failure(archive, to: receiver)
            #expect(gone.code == .unreadable && gone.retry == .never)
            #expect(try names(in: directory).isEmpty)
        }
    }

    @Test func aPlaceThatIsClosedIsGivenUp() async throws {
        // Not even root may write to /proc.
        try await withReceiver { archive, _, _ in
            let error = try await failure(archive, to: DirectoryReceiver(directory: "/proc"))
            #expect(error.retry == .later || error.code == .notPermitted)
        }
        #expect(UploadError(.noSpace, at: "file:///x").code == .full)
        #expect(UploadError(.noSpace, at: "file:///x").retry == .later)
        #expect(UploadError(.readOnlyFileSystem, at: "file:///x").retry == .never)
    }
}
