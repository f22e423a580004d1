/// What a program's end says to the shell, a supervisor or a container engine.
///
/// The numbers above 63 are those of sysexits.h. Open, like the numbers themselves: more may be added.
package struct ExitStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The process's exit code.
    package let rawValue: Int32

    /// Wraps an exit code.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// 0: all that was asked was done.
    package static let done = ExitStatus(rawValue: 0)
    /// 1: `health` found the program failing; or a mistake of our own ended the program.
    package static let failed = ExitStatus(rawValue: 1)
    /// 3: the work was done, and something could not be had. Logs, report and events say what.
    package static let doneWithLoss = ExitStatus(rawValue: 3)
    /// 64: the command line makes no sense.
    package static let usage = ExitStatus(rawValue: 64)
    /// 69: a program that is needed does not answer.
    package static let peerUnavailable = ExitStatus(rawValue: 69)
    /// 74: reading, writing or listening failed.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// 78: the configuration makes no sense.
    package static let badConfiguration = ExitStatus(rawValue: 78)

    package var description: String { "exit code \(rawValue)" }
}
