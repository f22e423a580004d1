import CLeaseGuard
import FoundationEssentials
import Glibc

/// A program that runs only under a lease. Its guard ends it at a deadline, or together with this program.
struct GuardedProgram: Sendable {
    /// The guard's exit code if the deadline had passed before it began.
    private static let deadlinePassed: Int32 = 124

    private let guardProcess: pid_t
    private let control: Int32

    /// - Parameters:
    ///   - command: the program's name, looked up as a shell does, and its arguments.
    ///   - variables: added to the environment.
    ///   - deadline: nanoseconds of the clock that continues while the machine sleeps.
    /// - Returns: nil if no process could be started.
    init?(_ command: [String], adding variables: [String: String], until deadline: Int64) {
        let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let texts = (["env", "--"] + command).map { strdup($0) } + [nil]
        let settings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in texts + settings { free(text) } }
        var control: Int32 = -1
        let process = holdfast_guard_start("/usr/bin/env", texts, settings, deadline, &control)
        guard process > 0 else { return nil }
        guardProcess = process
        self.control = control
    }

    func extend(until deadline: Int64) { _ = holdfast_guard_extend(control, deadline) }

    func terminate() { _ = holdfast_guard_signal(control, SIGTERM) }

    func kill() { _ = holdfast_guard_signal(control, SIGKILL) }

    /// Waits until the program has ended. Blocks the thread.
    /// - Returns: how the program ended, for display.
    func wait() -> String {
        switch holdfast_guard_wait(guardProcess) {
        case Self.deadlinePassed: "it was not started: the lease was over"
        case 127: "it could not be started"
        case let code where code >= 128: "killed by signal \(code - 128)"
        case let code: "exited with \(code)"
        }
    }

    /// Closes the connection to the guard. Call it after the program has ended and no more extensions follow.
    func close() { Glibc.close(control) }
}
