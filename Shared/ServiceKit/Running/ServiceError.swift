/// Why a program can't start or continue: a sentence for a person, and the exit code.
package struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    package let status: ExitStatus
    /// What failed, with which value, and what to do, in one sentence without the program's name.
    package let message: String

    package init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    package var description: String { message }
}
