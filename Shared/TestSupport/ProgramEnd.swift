/// How a program ended.
package enum ProgramEnd: Hashable, Sendable {
    /// By itself, with this exit code.
    case exited(Int32)
    /// By this signal.
    case killed(by: Int32)
}
