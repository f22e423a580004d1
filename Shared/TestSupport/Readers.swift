import FoundationEssentials
package import SystemPackage

/// Common readers of export formats, in a virtual environment that `make test` sets up with Tests/ExportTests/Readers/setup.
package enum Readers {
    private static let package = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .removingLastComponent()
    package static let python = package.appending(".build-readers/bin/python3")

    package static let areInstalled = FileManager.default.isExecutableFile(atPath: python.string)
    /// A recording of an AX3 with 610 counted steps (openmovement, Software/ThirdParty/pedometer/data).
    package static let recording = package.appending(".build-readers/example-610-steps.cwa")
    package static let hasRecording = FileManager.default.fileExists(atPath: recording.string)

    package static let need =
        "exports are NOT tested with their readers here: run Tests/ExportTests/Readers/setup first"

    /// Runs a script of Tests/ExportTests/Readers, which must succeed.
    /// - Returns: what it printed.
    package static func run(_ script: String, _ arguments: [String]) async throws -> String {
        let path = package.appending("Tests/ExportTests/Readers").appending(script)
        return try await Tool.output(of: python, [path.string] + arguments)
    }
}
