import FoundationEssentials
import Glibc
package import SystemPackage

/// Makes a directory that nobody else has, and removes it with all that is in it, however the body ends.
/// - Throws: `Errno` if it can't be made, and what the body throws.
package func withTemporaryDirectory<Result>(_ body: (FilePath) throws -> Result) throws -> Result {
    let directory = try makeTemporaryDirectory()
    defer { remove(directory) }
    return try body(directory)
}

/// Makes a directory that nobody else has, and removes it with all that is in it, however the body ends.
/// - Throws: `Errno` if it can't be made, and what the body throws.
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
    // What a killed program left behind may be unreadable; a directory in TMPDIR is not a reason to fail a test.
    try? FileManager.default.removeItem(atPath: directory.string)
}
