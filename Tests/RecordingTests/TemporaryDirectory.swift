import FoundationEssentials
import Recording
import SystemPackage

/// Runs a body with an empty directory of its own, and removes it afterwards.
func withTemporaryDirectory<Result>(_ body: (Directory) throws -> Result) throws -> Result {
    let path = FilePath(FileManager.default.temporaryDirectory.path).appending("recording-tests-\(UUID())")
    try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path.string) }
    return try body(Directory(path))
}

/// The bytes of a file as text.
func text(of path: FilePath) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path.string)), as: UTF8.self)
}
