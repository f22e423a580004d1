/// Why a program can't start or continue: one sentence for a person, and the exit code that goes with it.
package struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the process exits with.
    package let status: ExitStatus
    /// What failed, with what, and what to do. One sentence, no program name in front.
    package let message: String

    /// An error with its exit code and sentence.
    package init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    package var description: String { message }
}
