/// The result of looking up a path on the disk.
package struct PathLook: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case found(FileIdentity)
        /// Why the file must not be touched, or that there is none: a sentence without the path.
        case refused(String)
    }

    package let path: String
    package let outcome: Outcome

    package init(path: String, outcome: Outcome) {
        self.path = path
        self.outcome = outcome
    }
}
