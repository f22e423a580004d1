import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// A real server of NATS: Scripts/setup-nats gets it.
enum NATSServer {
    private static let program = FilePath(#filePath).removingLastComponent().appending("../../.build-nats/nats-server")

    static let isInstalled = FileManager.default.isExecutableFile(atPath: program.string)
    /// Why a test did not run.
    static let isMissing: Comment = "fail-over is NOT tested here: make nats gets a server"

    /// Runs a server as long as a closure does. What it keeps is in a directory, for the next one there.
    static func run<Result: Sendable>(
        in directory: FilePath, port: UInt16, _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        let configuration = """
            listen: 127.0.0.1:\(port)
            jetstream { store_dir: "\(directory)", max_file: 1GB }

            """
        let file = directory.appending("nats.conf").string
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)
        return try await ProgramUnderTest.run(executable: program, arguments: ["-c", file], in: directory) { server in
            try await server.complaint(containing: "Server is ready")
            return try await body(server)
        }
    }
}
