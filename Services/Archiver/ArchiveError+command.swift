import ArgumentParser
import Encryption
import ServiceKit

extension ArchiveError {
    /// The exit status of a program that stopped because of this error.
    var exitStatus: ExitStatus {
        switch code {
        case .badCertificate: .badConfiguration
        case .damaged, .wrongKey, .changed, .notOver, .invalidParameter: .failed
        default: .inputOutput
        }
    }

    /// Runs a subcommand's body, prints its error, and ends the program with the matching exit status.
    static func showing(_ body: () throws(ArchiveError) -> ExitStatus) throws {
        let status: ExitStatus
        do throws(ArchiveError) {
            status = try body()
        } catch {
            StandardStream.error.print("\(Program.archiver): \(LogText.escaped(error.description[...]))\n")
            status = error.exitStatus
        }
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
