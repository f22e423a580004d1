/// What a path leads to on the disk.
package struct PathLook: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case found(FileIdentity)
        /// Why it is not to be touched, or that there is nothing: a sentence without the path.
        case refused(String)
    }

    package let path: String
    package let outcome: Outcome

    package init(path: String, outcome: Outcome) {
        self.path = path
        self.outcome = outcome
    }
}
