/// The oracle's findings in logs.
struct Findings: Sendable {
    /// Samples in the logs.
    var samples = 0
    /// Samples that belong to the session and are missing.
    var lost = 0
    /// Samples that are there more than once.
    var duplicated = 0
    /// Missing samples that no gap record covers.
    var unexplained = 0
    /// Files that can't be read.
    var unreadable = 0
    /// Descriptions of all of these and of any other fault.
    var violations: [String] = []

    mutating func violate(_ sentence: String) {
        // The first violations show what happened; a faulty log keeps producing more.
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
