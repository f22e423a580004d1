import Files
import FoundationEssentials
import Recording
import SystemPackage
import TestSupport

/// Runs a body with an empty directory of its own, and removes it afterwards.
func withTemporaryDirectory<Result>(_ body: (Directory) throws -> Result) throws -> Result {
    try TestSupport.withTemporaryDirectory { path in try body(Directory(path)) }
}

func text(of path: FilePath) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path.string)), as: UTF8.self)
}
