import ArgumentParser
import Files
import Recording
import ServiceKit
import SystemPackage

/// The `verify` subcommand: checks every byte of a session's directory and reports what is wrong.
///
/// Needs no running recorder. A line per finding, then a summary; exits 0 whole, 3 with loss, 1 damaged or unreadable.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check the files of a session: hashes, records, continuity, report.",
        discussion: """
            Exits 0 if the session is whole, 3 if samples are missing or it was not finished, 1 if it is damaged. Files \
            that log-manager removed are listed, and do not count as damage.
            """)

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    func run() throws { try Self.verify(directory) }

    static func verify(_ directory: String) throws {
        try SessionDirectory.opening(directory) { path throws(RecordingError) in
            let session = try SessionDirectory(at: path)
            let line = ByteProgress(session.session.text)
            defer { line.clear() }
            return session.verify { line.show($0, of: $1) }
        }.conclude()
    }
}

extension SessionVerification {
    /// Prints the findings, and ends the program with the exit code for their verdict.
    func conclude() throws {
        let lines = findings.map(\.description) + [summary]
        StandardStream.output.print(lines.map { $0 + "\n" }.joined())
        switch verdict {
        case .whole: break
        case .loss: throw ExitCode(ExitStatus.doneWithLoss.rawValue)
        case .damaged: throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}

extension SessionDirectory {
    /// Runs `body` with a session's directory. Prints an error, and then ends the program with exit code 1.
    static func opening<Result>(_ path: String, _ body: (FilePath) throws(RecordingError) -> Result) throws -> Result {
        do throws(RecordingError) {
            return try body(FilePath(path))
        } catch {
            StandardStream.error.print("recorder: \(error)\n")
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}
