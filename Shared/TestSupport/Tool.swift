import FoundationEssentials
package import SystemPackage

/// External programs: those of the system, and those that `make test` unpacks only for the tests.
///
/// Programs that a test starts here search the same directories for the commands that they run.
package enum Tool {
    /// The outcome and the output of a program.
    package struct Answer: Sendable {
        package var isSuccess: Bool
        package var output: String
        package var error: String
    }

    /// The directories to search, in order. Debian keeps `ip` and `nginx` out of a user's PATH.
    package static let directories: [FilePath] = {
        let package = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return [".build-receivers/bin", ".build-readers/bin", ".build-nats"].map { package.appending($0) }
            + path.split(separator: ":").map { FilePath(String($0)) }
            + ["/usr/sbin", "/sbin"]
    }()

    /// The path of a program in one of the directories.
    package static func path(of name: String) -> FilePath? {
        directories.lazy.map { $0.appending(name) }.first { FileManager.default.isExecutableFile(atPath: $0.string) }
    }

    /// Whether a program is installed.
    package static func exists(_ name: String) -> Bool { path(of: name) != nil }

    /// The path of a program that a test needs.
    /// - Throws: `TestFailure` if it is missing.
    package static func require(_ name: String) throws -> FilePath {
        guard let path = path(of: name) else { throw TestFailure("there is no \(name)") }
        return path
    }

    /// Runs a program to its end.
    /// - Parameter program: a path, or a name to look up.
    package static func run(_ program: FilePath, _ arguments: [String]) async throws -> Answer {
        let path = program.components.count == 1 && !program.isAbsolute ? try require(program.string) : program
        let search = directories.map(\.string).joined(separator: ":")
        return try await ProgramUnderTest.run(
            executable: path, arguments: arguments, environment: ["PATH": search]
        ) { program in
            let end = try await program.end(within: .seconds(300))
            return Answer(
                isSuccess: end == .exited(0), output: program.standardOutput, error: program.standardError)
        }
    }

    /// Runs a program, which must succeed.
    /// - Returns: what it printed.
    @discardableResult
    package static func output(of program: FilePath, _ arguments: [String]) async throws -> String {
        let answer = try await run(program, arguments)
        guard answer.isSuccess else {
            throw TestFailure("\(program) \(arguments.joined(separator: " ")):\n\(answer.output)\(answer.error)")
        }
        return answer.output
    }

    /// A file's SHA-256 according to sha256sum(1), in lower-case hexadecimal.
    package static func sha256(_ path: FilePath) async throws -> String {
        String(try await output(of: "sha256sum", [path.string]).prefix(64))
    }
}
