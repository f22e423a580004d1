import FoundationEssentials
import SystemPackage
import TestSupport

/// The programs that systems have: gzip, jq, python3.
enum Tool {
    /// A program on the PATH.
    static func path(of name: String) -> FilePath? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { FilePath(String($0)).appending(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.string) }
    }

    /// A program on the PATH that a test can't do without.
    static func require(_ name: String) throws -> FilePath {
        guard let path = path(of: name) else { throw TestFailure("there is no \(name)") }
        return path
    }

    /// What a program prints, once it has exited with 0.
    static func output(of program: FilePath, _ arguments: [String]) async throws -> String {
        try await ProgramUnderTest.run(executable: program, arguments: arguments) { program in
            let end = try await program.end(within: .seconds(300))
            guard end == .exited(0) else {
                throw TestFailure("\(arguments): \(end)\n\(program.standardOutput)\n\(program.standardError)")
            }
            return program.standardOutput
        }
    }

    /// A file's SHA-256 as sha256sum(1) takes it, in lower-case hexadecimal digits.
    static func sha256(_ path: FilePath) async throws -> String {
        String(try await output(of: require("sha256sum"), [path.string]).prefix(64))
    }
}
