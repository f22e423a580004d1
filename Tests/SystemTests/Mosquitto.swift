import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// A real broker, installed by Scripts/setup-broker.
enum Mosquitto {
    private static let directory = FilePath(#filePath).removingLastComponent().appending("../../.build-broker")
    static let passwords = directory.appending("mosquitto_passwd")

    static let isInstalled = FileManager.default.isExecutableFile(atPath: directory.appending("mosquitto").string)
    /// Why a test did not run.
    static let isMissing: Comment = "MQTT is NOT tested here with a real broker: make broker gets one"

    /// Runs a broker as long as a closure runs. Its data is in the directory, for the next broker there.
    /// - Parameter settings: further lines of its configuration.
    static func run<Result: Sendable>(
        port: UInt16, in directory: FilePath, settings: String = "allow_anonymous true",
        _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        let configuration = """
            user root
            listener \(port) 127.0.0.1
            persistence true
            persistence_location \(directory)/
            autosave_interval 1
            autosave_on_changes true
            \(settings)

            """
        let file = directory.appending("mosquitto.conf").string
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)
        return try await ProgramUnderTest.run(
            executable: Self.directory.appending("mosquitto"), arguments: ["-c", file], in: directory
        ) { program in
            try await program.complaint(containing: " running")
            return try await body(program)
        }
    }
}
