/// The signals that tests send.
package enum ProgramSignal: Hashable, Sendable {
    /// SIGTERM: finish the work, then stop.
    case terminate
    /// SIGINT: Ctrl-C.
    case interrupt
    /// SIGKILL: end at once.
    case kill
    /// SIGSTOP: hang with open sockets.
    case stop
    /// SIGCONT: continue after SIGSTOP.
    case resume
}
