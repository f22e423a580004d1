import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// The readers that people have, in a virtual environment: Readers/setup gets them, and `make test` runs that.
enum Readers {
    private static let directory = FilePath(#filePath).removingLastComponent()
    private static let python = directory.removingLastComponent().removingLastComponent()
        .appending(".build-readers/bin/python3")

    static let areInstalled = FileManager.default.isExecutableFile(atPath: python.string)
    static let need: Comment =
        "exports are NOT tested with their readers here: run Tests/ExportTests/Readers/setup first"

    /// Runs a script of Readers/.
    static func run(_ script: String, _ arguments: [String]) async throws -> String {
        try await Tool.output(of: python, [directory.appending("Readers/\(script)").string] + arguments)
    }
}
