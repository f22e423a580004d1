import Hashing
import Files
import FoundationEssentials
import Recording
import SystemPackage
import TestSupport

@testable import Upload

/// Makes an archive of so many bytes that no other test has, and removes it however the body ends.
func withArchive<Result>(
    bytes: Int = 200_000, _ body: (UploadFile) async throws -> Result
) async throws -> Result {
    try await withTemporaryDirectory { directory in
        try await body(try makeArchive(bytes: bytes, in: directory))
    }
}

/// Makes an archive of so many bytes, with a name that no other has.
func makeArchive(bytes: Int, in directory: FilePath) throws -> UploadFile {
    let name = "walk \(UUID().uuidString) é+&.zip"
    var random = SystemRandomNumberGenerator()
    let block = (0..<1 << 13).map { _ in random.next() }.flatMap { number in
        (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    var data = Data(capacity: bytes)
    while data.count < bytes {
        // Each block is another one, and so is each part.
        withUnsafeBytes(of: data.count) { data.append(contentsOf: $0.prefix(bytes - data.count)) }
        data.append(contentsOf: block.prefix(bytes - data.count))
    }
    let path = directory.appending(name)
    try data.write(to: URL(filePath: path.string))
    return UploadFile(path: path, name: name, bytes: bytes, sha256: SHA256.hash(data: data).hexDigits)
}

/// As small as S3 allows parts to be.
let smallSizes = PartPlan.Sizes(threshold: 10_000_000, smallestPart: 5 << 20)

/// Uploads a file once, on a thread made for that.
func upload(
    _ archive: UploadFile, to receiver: any Receiver, options: HTTPOptions = HTTPOptions()
) async throws -> UploadConfirmation {
    try await Uploader(to: receiver, options: options, sizes: smallSizes).upload(archive)
}

/// Why an upload failed.
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
    /// The bytes of the file.
    var content: Data { get throws { try Data(contentsOf: URL(filePath: string)) } }
}
