/// The signals that tests send.
package enum ProgramSignal: Hashable, Sendable {
    /// SIGTERM: stop, and finish your work first.
    case terminate
    /// SIGINT: Ctrl-C.
    case interrupt
    /// SIGKILL: nothing more is done.
    case kill
    /// SIGSTOP: the program hangs, with its sockets open.
    case stop
    /// SIGCONT: it continues after SIGSTOP.
    case resume
}
