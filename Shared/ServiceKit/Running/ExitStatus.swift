/// A program's exit code, for the shell, a supervisor or a container engine.
///
/// The numbers above 63 are from sysexits.h. Open: more may be added.
package struct ExitStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// 0: all requested work was done.
    package static let done = ExitStatus(rawValue: 0)
    /// 1: `health` found the program failing, or a fault of the program ended it.
    package static let failed = ExitStatus(rawValue: 1)
    /// 3: the work was done, but something was lost. The log, report and events have the details.
    package static let doneWithLoss = ExitStatus(rawValue: 3)
    /// 64: the command line is invalid.
    package static let usage = ExitStatus(rawValue: 64)
    /// 69: a required program does not answer.
    package static let peerUnavailable = ExitStatus(rawValue: 69)
    /// 74: reading, writing or listening failed.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// 78: the configuration is invalid.
    package static let badConfiguration = ExitStatus(rawValue: 78)

    package var description: String { "exit code \(rawValue)" }
}
