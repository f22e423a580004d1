/// What the oracle found in logs.
struct Findings: Sendable {
    /// Samples in the logs.
    var samples = 0
    /// Samples that belong to the session and are not there.
    var lost = 0
    /// Samples that are there more than once.
    var duplicated = 0
    /// Lost ones that no gap record names.
    var unexplained = 0
    /// Files that can't be read.
    var unreadable = 0
    /// Sentences about all of these and whatever else is wrong.
    var violations: [String] = []

    mutating func violate(_ sentence: String) {
        // The first ones say what happened; a log that went wrong goes on doing so.
        if violations.count < 40 { violations.append(sentence) }
    }

    static func += (left: inout Findings, right: Findings) {
        left.samples += right.samples
        left.lost += right.lost
        left.duplicated += right.duplicated
        left.unexplained += right.unexplained
        left.unreadable += right.unreadable
        for violation in right.violations { left.violate(violation) }
    }
}
