import FoundationEssentials
import Subprocess
import SystemPackage
import TestSupport

/// Programs of others, by which archives must be readable.
enum Tool {
    /// What a program answered.
    struct Answer {
        var isSuccess: Bool
        var output: String
        var error: String
    }

    /// Whether a program is installed.
    static func isThere(_ name: String) -> Bool {
        if ReceiverPrograms.program(name) != nil { return true }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String]) async throws -> Answer {
        let record = try await Subprocess.run(
            ReceiverPrograms.program(name).map { .path($0) } ?? .name(name), arguments: Arguments(arguments),
            input: .none, output: .string(limit: 4 << 20), error: .string(limit: 1 << 20))
        return Answer(
            isSuccess: record.terminationStatus.isSuccess, output: record.standardOutput,
            error: record.standardError)
    }

    /// Runs a program, which must succeed.
    /// - Returns: what it wrote.
    @discardableResult
    static func require(_ name: String, _ arguments: [String]) async throws -> String {
        let answer = try await run(name, arguments)
        guard answer.isSuccess else {
            throw TestFailure("\(name) \(arguments.joined(separator: " ")):\n\(answer.output)\(answer.error)")
        }
        return answer.output
    }
}
