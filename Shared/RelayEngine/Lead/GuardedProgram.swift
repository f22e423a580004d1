import CLeaseGuard
import FoundationEssentials
import Glibc

/// The program that a lease allows to run, under a guard that ends it at a time, and with this program.
struct GuardedProgram: Sendable {
    /// The exit code of a guard whose time had passed before it began.
    private static let deadlinePassed: Int32 = 124

    private let guardProcess: pid_t
    private let control: Int32

    /// Starts a program.
    /// - Parameters:
    ///   - command: its name, looked up as a shell does, and its arguments.
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

    /// Waits until it has ended: on a thread that may be blocked.
    /// - Returns: how it ended, for people.
    func wait() -> String {
        switch holdfast_guard_wait(guardProcess) {
        case Self.deadlinePassed: "it was not started: the lease was over"
        case 127: "it could not be started"
        case let code where code >= 128: "killed by signal \(code - 128)"
        case let code: "exited with \(code)"
        }
    }

    /// Gives its guard up, once it has ended and nothing will be asked of it.
    func close() { Glibc.close(control) }
}
