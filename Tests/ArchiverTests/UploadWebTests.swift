import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// Uploads to nginx. It returns no hashes, so uploaded files are read back.
@Suite(
    .enabled(if: ReceiverPrograms.areThere, ReceiverPrograms.areMissing), .nginx, .timeLimit(.minutes(5)))
struct UploadWebTests {
    private func receiver(_ path: String, secure: Bool = false, headers: FilePath? = nil) throws -> WebReceiver {
        let template = try WebTemplate(typed: try Nginx.running().address(path, secure: secure))
        return WebReceiver(store: PutStore(template: template, headerFile: headers))
    }

    private func file(_ directory: String, _ archive: UploadFile) throws -> FilePath {
        try Nginx.running().root.appending(directory).appending(archive.name)
    }

    @Test(arguments: [0, 1, 3_000_000]) func aFileIsSentAndReadBack(bytes: Int) async throws {
        try await withArchive(bytes: bytes) { archive in
            let confirmation = try await upload(archive, to: try receiver("/archives/"))
            #expect(confirmation.bytes == bytes && confirmation.sha256 == archive.sha256)
            #expect(confirmation.proof == .readBack && !confirmation.wasThere)
            #expect(try file("archives", archive).content == archive.path.content)
        }
    }

    @Test func overTLS() async throws {
        try await withArchive { archive in
            let receiver = try receiver("/archives/tls/{name}", secure: true)
            let untrusted = try await failure(archive, to: receiver)
            #expect(untrusted.code == .untrusted)
            #expect(untrusted.description.contains("ca-certificate"))
            #expect(!FileManager.default.fileExists(atPath: try file("archives/tls", archive).string))

            let options = HTTPOptions(caCertificate: try Nginx.running().authority)
            let confirmation = try await upload(archive, to: receiver, options: options)
            #expect(confirmation.location.hasPrefix("https://localhost:"))
            #expect(try file("archives/tls", archive).content == archive.path.content)

            // The server closes the connection in the middle.
            let closed = try await failure(archive, to: try self.receiver("/closing/", secure: true), options: options)
            #expect(closed.code == .unreachable && closed.retry == .later)

            // The certificate is for another name.
            let address = try Nginx.running().address("/archives/", secure: true).replacing(
                "localhost", with: "127.0.0.1")
            let store = PutStore(template: try WebTemplate(typed: address), headerFile: nil)
            let error = try await failure(archive, to: WebReceiver(store: store), options: options)
            #expect(error.code == .untrusted)
            let nobody = HTTPOptions(caCertificate: "/not/there.pem")
            let missing = try await failure(archive, to: receiver, options: nobody)
            #expect(missing.code == .badConfiguration && missing.retry == .never)
        }
    }

    @Test func whatIsThereIsNotSentAgain() async throws {
        try await withArchive { archive in
            let receiver = try receiver("/archives/")
            _ = try await upload(archive, to: receiver)
            let first = try file("archives", archive).stat()
            let again = try await upload(archive, to: receiver)
            #expect(again.wasThere && again.proof == .readBack)
            #expect(try file("archives", archive).stat().inode == first.inode)
        }
    }

    @Test(arguments: [200_000, 7]) func anotherFileIsNotReplaced(bytes: Int) async throws {
        try await withArchive { archive in
            let path = try file("archives", archive)
            try Data(repeating: 1, count: bytes).write(to: URL(filePath: path.string))
            let error = try await failure(archive, to: try receiver("/archives/"))
            #expect(error.code == .different && error.retry == .never)
            #expect(try path.content == Data(repeating: 1, count: bytes))
        }
    }

    @Test func whatArrivedChangedIsNotConfirmed() async throws {
        try await withArchive { archive in
            var bytes = try archive.path.content
            bytes[100_000] ^= 1
            try bytes.write(to: URL(filePath: archive.path.string))
            let error = try await failure(archive, to: try receiver("/archives/"))
            #expect(error.code == .corrupted && error.retry == .later)
        }
    }

    @Test func aHeaderLetsIn() async throws {
        try await withArchive { archive in
            let refused = try await failure(archive, to: try receiver("/private/"))
            #expect(refused.code == .notPermitted && refused.retry == .never)
            let headers = archive.path.removingLastComponent().appending("headers")
            try Data("Authorization: Bearer sesame\n".utf8).write(to: URL(filePath: headers.string))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: headers.string)
            _ = try await upload(archive, to: try receiver("/private/", headers: headers))
            #expect(try file("private", archive).content == archive.path.content)
        }
    }

    @Test func whatCanNotBeSeenIsNotConfirmed() async throws {
        try await withArchive { archive in
            let error = try await failure(archive, to: try receiver("/write-only/"))
            #expect(error.code == .unconfirmed && error.retry == .never)
            #expect(error.description.contains("Allow GET"))
            #expect(try file("write-only", archive).content == archive.path.content)
        }
    }

    @Test(arguments: [
        ("/forbidden/", UploadError.Code.notPermitted, UploadError.Retry.never), ("/broken/", .receiverFailed, .later),
        ("/busy/", .busy, .after(.seconds(7))), ("/full/", .full, .later), ("/elsewhere/", .redirected, .never),
        ("/closing/", .unreachable, .later), ("/small/", .tooLarge, .never), ("/read-only/", .refused, .never),
    ]) func refusalsSayWhatToDo(path: String, code: UploadError.Code, retry: UploadError.Retry) async throws {
        // Large enough to be only half sent when the reply comes.
        try await withArchive(bytes: 5_000_000) { archive in
            let error = try await failure(archive, to: try receiver(path))
            #expect(error.code == code && error.retry == retry)
            #expect(error.description.contains(path) && !error.description.contains("stolen"))
        }
    }

    @Test func severalShareTheBandwidth() async throws {
        try await withTemporaryDirectory { directory in
            let archives = try (0..<3).map { _ in try makeArchive(bytes: 400_000, in: directory) }
            let uploader = try Uploader(to: try receiver("/archives/"), count: 3, bytesPerSecond: 1_000_000)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: UploadConfirmation.self) { tasks in
                for archive in archives { tasks.addTask { try await uploader.upload(archive) } }
                for try await confirmation in tasks { #expect(confirmation.bytes == 400_000) }
            }
            // 1.2 MB at 1 MB/s, less the initial burst: a busy machine is slower, but none is faster.
            #expect(ContinuousClock.now - start > .milliseconds(1_000))
        }
    }
}
