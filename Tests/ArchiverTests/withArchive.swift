import Hashing
import Files
import FoundationEssentials
import Recording
import SystemPackage
import TestSupport

@testable import Upload

/// Makes an archive of this many bytes, different from every other test's, and removes it when the body ends.
func withArchive<Result>(
    bytes: Int = 200_000, _ body: (UploadFile) async throws -> Result
) async throws -> Result {
    try await withTemporaryDirectory { directory in
        try await body(try makeArchive(bytes: bytes, in: directory))
    }
}

/// Makes an archive of this many bytes, with a unique name.
func makeArchive(bytes: Int, in directory: FilePath) throws -> UploadFile {
    let name = "walk \(UUID().uuidString) é+&.zip"
    var random = SystemRandomNumberGenerator()
    let block = (0..<1 << 13).map { _ in random.next() }.flatMap { number in
        (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    var data = Data(capacity: bytes)
    while data.count < bytes {
        // The blocks differ, and so do the parts.
        withUnsafeBytes(of: data.count) { data.append(contentsOf: $0.prefix(bytes - data.count)) }
        data.append(contentsOf: block.prefix(bytes - data.count))
    }
    let path = directory.appending(name)
    try data.write(to: URL(filePath: path.string))
    return UploadFile(path: path, name: name, bytes: bytes, sha256: SHA256.hash(data: data).hexDigits)
}

/// The smallest parts that S3 allows.
let smallSizes = PartPlan.Sizes(threshold: 10_000_000, smallestPart: 5 << 20)

/// Uploads a file once, on a thread made for that.
func upload(
    _ archive: UploadFile, to receiver: any Receiver, options: HTTPOptions = HTTPOptions()
) async throws -> UploadConfirmation {
    try await Uploader(to: receiver, options: options, sizes: smallSizes).upload(archive)
}

/// The error of an upload that must fail.
func failure(
    _ archive: UploadFile, to receiver: any Receiver, options: HTTPOptions = HTTPOptions()
) async throws -> UploadError {
    do {
        let confirmation = try await upload(archive, to: receiver, options: options)
        throw TestFailure("it was uploaded: \(confirmation)")
    } catch let error as UploadError {
        return error
    }
}

extension FilePath {
    var content: Data { get throws { try Data(contentsOf: URL(filePath: string)) } }
}
