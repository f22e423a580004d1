import FoundationEssentials
import Glibc
package import SystemPackage

/// Makes a unique directory, and removes it with its contents, however the body ends.
/// - Throws: `Errno` if it can't be made, and errors of the body.
package func withTemporaryDirectory<Result>(_ body: (FilePath) throws -> Result) throws -> Result {
    let directory = try makeTemporaryDirectory()
    defer { remove(directory) }
    return try body(directory)
}

/// Makes a unique directory, and removes it with its contents, however the body ends.
/// - Throws: `Errno` if it can't be made, and errors of the body.
package func withTemporaryDirectory<Result>(_ body: (FilePath) async throws -> Result) async throws -> Result {
    let directory = try makeTemporaryDirectory()
    defer { remove(directory) }
    return try await body(directory)
}

private func makeTemporaryDirectory() throws -> FilePath {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array(FilePath(parent).appending("holdfast-XXXXXX").string.utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
    return FilePath(
        template.withUnsafeBufferPointer { String(decoding: $0.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self) }
    )
}

private func remove(_ directory: FilePath) {
    // Files of a killed program may not be removable; a directory left in TMPDIR is no reason to fail a test.
    try? FileManager.default.removeItem(atPath: directory.string)
}
