import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// Uploads to two independent S3 servers, inspected with Amazon's client.
@Suite(
    .enabled(if: ReceiverPrograms.areThere, ReceiverPrograms.areMissing), .s3, .timeLimit(.minutes(5)))
struct UploadS3Tests {
    /// Four parts, the last one smaller.
    private static let severalParts = 18_000_001

    @Test(arguments: S3Server.Kind.allCases) func anObjectIsSentAndConfirmed(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive { archive in
            let receiver = WebReceiver(store: try server.store(prefix: "study 1/å"))
            let confirmation = try await upload(archive, to: receiver)
            #expect(confirmation.proof == (kind == .moto ? .sha256 : .md5))
            #expect(confirmation.location == "s3://archives/study 1/å/\(archive.name)" && !confirmation.wasThere)
            let object = try await server.object("study 1/å/\(archive.name)")
            #expect(object == S3Server.Object(bytes: archive.bytes, sha256: archive.sha256))

            let again = try await upload(archive, to: receiver)
            #expect(again.wasThere && again.proof == confirmation.proof)
        }
    }

    @Test(arguments: S3Server.Kind.allCases) func aLargeOneGoesInParts(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive(bytes: Self.severalParts) { archive in
            let receiver = WebReceiver(store: try server.store())
            let confirmation = try await upload(archive, to: receiver)
            #expect(confirmation.proof == .partsMD5)
            #expect(confirmation.checksum.hasSuffix("-4"))
            let object = try await server.object(archive.name)
            #expect(object == S3Server.Object(bytes: archive.bytes, sha256: archive.sha256))
            let again = try await upload(archive, to: receiver)
            // moto reports the hash on request, but not on completion.
            #expect(again.wasThere && again.proof == (kind == .moto ? .partsSHA256 : .partsMD5))
            #expect(again.checksum.hasSuffix("-4"))
        }
    }

    @Test(arguments: S3Server.Kind.allCases) func aLargeOneGoesOnWhereItEnded(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive(bytes: Self.severalParts) { archive in
            let bytes = try archive.path.content
            let source = try SourceFile(archive, sizes: smallSizes)
            let worker = try UploadWorker(1, receiver: WebReceiver(store: try server.store()), options: HTTPOptions())
            // The source's hashes are computed first; then its third part is too short.
            _ = try source.digests(UploadThrottle())
            try #require(truncate(archive.path.string, 12_000_000) == 0)
            let error = await worker.upload(source, UploadThrottle()).failure
            #expect(error?.code == .unreadable)
            #expect(try await server.client("uploads", key: archive.name) == "1")

            // A second program that does not know about the first upload.
            let handle = try FileDescriptor.open(archive.path, .writeOnly)
            try handle.closeAfter { _ = try handle.writeAll(toAbsoluteOffset: 12_000_000, bytes[12_000_000...]) }
            let rest = UploadThrottle()
            let later = try UploadWorker(1, receiver: WebReceiver(store: try server.store()), options: HTTPOptions())
            let confirmation = try await later.upload(source, rest).get()
            #expect(!confirmation.wasThere && rest.sentBytes < 8_000_000)
            #expect(try await server.client("uploads", key: archive.name) == "0")
            let object = try await server.object(archive.name)
            #expect(object == S3Server.Object(bytes: archive.bytes, sha256: archive.sha256))
        }
    }

    @Test(arguments: S3Server.Kind.allCases) func anotherObjectIsNotReplaced(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive { archive in
            try await server.client("put", key: archive.name)
            let error = try await failure(archive, to: WebReceiver(store: try server.store()))
            #expect(error.code == .different && error.retry == .never)
            #expect(try await server.object(archive.name).bytes == 5)
        }
    }

    @Test(arguments: S3Server.Kind.allCases) func aWrongKeyIsGivenUp(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive { archive in
            let key = server.key.merging(["AWS_SECRET_ACCESS_KEY": "hunter2"]) { $1 }
            let error = try await failure(archive, to: WebReceiver(store: try server.store(key: key)))
            #expect(error.code == .notPermitted && error.retry == .never)
            #expect(error.description.contains("SignatureDoesNotMatch") && !error.description.contains("hunter2"))
        }
    }

    @Test(arguments: S3Server.Kind.allCases) func aBucketThatIsNotThereIsNamed(kind: S3Server.Kind) async throws {
        let server = try S3Server.running(kind)
        try await withArchive { archive in
            let error = try await failure(archive, to: WebReceiver(store: try server.store(bucket: "nowhere")))
            #expect(error.code == .notFound && error.retry == .never)
            #expect(error.description.contains("s3://nowhere/"))
        }
    }

    /// moto does not compare bodies with hashes; see `S3Server`.
    @Test func changedBytesAreNotKept() async throws {
        let server = try S3Server.running(.swift)
        try await withArchive { archive in
            var bytes = try archive.path.content
            bytes[100_000] ^= 1
            try bytes.write(to: URL(filePath: archive.path.string))
            let receiver = WebReceiver(store: try server.store())
            let error = try await failure(archive, to: receiver)
            #expect(error.code == .corrupted && error.retry == .later)
            bytes[100_000] ^= 1
            try bytes.write(to: URL(filePath: archive.path.string))
            let confirmation = try await upload(archive, to: receiver)
            #expect(!confirmation.wasThere)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
