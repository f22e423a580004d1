import ArgumentParser
import Encryption
import ServiceKit

extension ArchiveError {
    /// What a program ends with that could not continue because of it.
    var exitStatus: ExitStatus {
        switch code {
        case .badCertificate: .badConfiguration
        case .damaged, .wrongKey, .changed, .notOver, .invalidParameter: .failed
        default: .inputOutput
        }
    }

    /// Does what a subcommand is for, shows the error, and ends the program with the exit code that fits.
    static func showing(_ body: () throws(ArchiveError) -> ExitStatus) throws {
        let status: ExitStatus
        do throws(ArchiveError) {
            status = try body()
        } catch {
            StandardStream.error.print("\(Program.archiver): \(error)\n")
            status = error.exitStatus
        }
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
