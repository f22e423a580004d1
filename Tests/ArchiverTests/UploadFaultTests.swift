import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// Broken connections, missing replies and wrong hashes.
@Suite(
    .enabled(if: ReceiverPrograms.areThere, ReceiverPrograms.areMissing), .faultyServer, .timeLimit(.minutes(5)))
struct UploadFaultTests {
    private func receiver(_ path: String) throws -> WebReceiver {
        let template = try WebTemplate(typed: try FaultyServer.running().endpoint + path)
        return WebReceiver(store: PutStore(template: template, headerFile: nil))
    }

    @Test func aFileCanBeGivenAgainAfterAConnectionBroke() async throws {
        try await withArchive(bytes: 3_000_000) { archive in
            let error = try await failure(archive, to: try receiver("/cut/"))
            #expect(error.code == .unreachable && error.retry == .later)

            let uploader = try Uploader(to: try receiver("/once/"))
            let first = await #expect(throws: UploadError.self) { try await uploader.upload(archive) }
            #expect(first?.code == .unreachable)
            let confirmation = try await uploader.upload(archive)
            #expect(confirmation.sha256 == archive.sha256 && confirmation.proof == .readBack)
        }
    }

    /// Some servers write under the file's final name while they receive it.
    @Test func whatAServerKeptOfAnInterruptedUploadIsReplaced() async throws {
        try await withArchive(bytes: 3_000_000) { archive in
            let uploader = try Uploader(to: try receiver("/torso/"))
            let first = await #expect(throws: UploadError.self) { try await uploader.upload(archive) }
            #expect(first?.code == .unreachable)
            let confirmation = try await uploader.upload(archive)
            #expect(confirmation.sha256 == archive.sha256 && confirmation.proof == .readBack)
            #expect(!confirmation.wasThere)
            #expect(try await uploader.upload(archive).wasThere)
        }
    }

    /// The beginning of another file is not an interrupted upload.
    @Test func whatAServerKeptOfAnotherFileIsNotReplaced() async throws {
        try await withArchive(bytes: 3_000_000) { archive in
            let uploader = try Uploader(to: try receiver("/torso/"))
            let first = await #expect(throws: UploadError.self) { try await uploader.upload(archive) }
            #expect(first?.code == .unreachable)
            var bytes = try archive.path.content
            bytes[50_000] ^= 1
            try bytes.write(to: URL(filePath: archive.path.string))
            let error = try await failure(archive, to: try receiver("/torso/"))
            #expect(error.code == .different && error.retry == .never)
        }
    }

    @Test(arguments: ["/silent/", "/slow/"]) func anAnswerThatNeverComesIsNotWaitedFor(path: String) async throws {
        try await withArchive(bytes: 3_000_000) { archive in
            let error = try await failure(archive, to: try receiver(path), options: HTTPOptions(stallSeconds: 1))
            #expect(error.code == .timedOut && error.retry == .later)
        }
    }

    @Test func aHashOfSomethingElseIsNoConfirmation() async throws {
        try await withArchive { archive in
            let error = try await failure(archive, to: try receiver("/wrong/"))
            #expect(error.code == .corrupted && error.retry == .later)
        }
    }

    @Test func aHashOfTheFileIsOne() async throws {
        try await withArchive { archive in
            let confirmation = try await upload(archive, to: try receiver("/digest/"))
            #expect(confirmation.proof == .sha256)
            #expect(Data(base64Encoded: confirmation.checksum).map(Array.init) == archive.sha256Bytes)
        }
    }

    @Test func whatBreaksWhileReadBackIsNotConfirmed() async throws {
        try await withArchive { archive in
            let error = try await failure(archive, to: try receiver("/half/"))
            #expect(error.code == .unreachable && error.retry == .later)
        }
    }

    @Test func aDateToComeBackIsKept() async throws {
        try await withArchive { archive in
            let error = try await failure(archive, to: try receiver("/busy/"))
            guard case .after(let time) = error.retry else { throw TestFailure("\(error)") }
            #expect(error.code == .busy && time > .seconds(30) && time <= .seconds(100))
        }
    }

    @Test func aCancelledUploadEnds() async throws {
        try await withArchive(bytes: 3_000_000) { archive in
            let uploader = try Uploader(to: try receiver("/slow/"))
            let one = Task { try await uploader.upload(archive) }
            // The second upload waits for the thread of the first.
            let other = Task { try await uploader.upload(archive) }
            let endpoint = try FaultyServer.running().endpoint
            try await eventually("the upload has begun") {
                try await WebClient().get(endpoint + "/requests").contains(
                    "/slow/\(PercentEncoding.component(archive.name))")
            }
            for task in [other, one] { task.cancel() }
            for task in [other, one] {
                let result = await task.result
                #expect((#expect(throws: UploadError.self) { _ = try result.get() })?.code == .cancelled)
            }
        }
    }

    @Test(arguments: [
        ("http://nowhere.invalid/", UploadError.Code.unreachable), ("http://127.0.0.1:1/", .unreachable),
        ("https://[::1]:1/", .unreachable),
    ]) func aReceiverThatIsNotThereMayComeLater(address: String, code: UploadError.Code) async throws {
        try await withArchive { archive in
            let store = PutStore(template: try WebTemplate(typed: address), headerFile: nil)
            let error = try await failure(archive, to: WebReceiver(store: store))
            #expect(error.code == code && error.retry == .later)
        }
    }
}
