import ArgumentParser
import ServiceKit

extension ArchiveError {
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
