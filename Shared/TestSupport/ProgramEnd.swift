/// How a program ended.
package enum ProgramEnd: Hashable, Sendable {
    /// The program exited with this code.
    case exited(Int32)
    /// This signal killed the program.
    case killed(by: Int32)
}
