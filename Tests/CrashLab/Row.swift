/// What came of one kind of fault: a row of the table.
struct Row: Encodable, Sendable {
    /// The experiment, as `--only` names it.
    let name: String
    /// The fault.
    let fault: String
    /// How often it was tried.
    var tries = 0
    /// Samples in the logs that were checked.
    var samples = 0
    /// Samples that are not there, explained or not.
    var lost = 0
    /// Samples that are there more than once.
    var duplicated = 0
    /// Samples that are missing or wrong and nothing says so.
    var unexplained = 0
    /// Files that do not parse.
    var unreadable = 0
    /// The longest time, in milliseconds, from the program's return until its logs had all that was published by then.
    var longestRecovery: Double?
    /// The oldest sample that a power cut cost, in milliseconds before the cut.
    var longestLoss: Double?
    /// What else was measured.
    var notes: [String] = []
    /// Why it was not tried.
    var notRun: String?
    /// What went wrong, a sentence each.
    var violations: [String] = []

    init(_ experiment: any Experiment) {
        name = experiment.name
        fault = experiment.fault
    }

    /// Adds what the oracle found.
    mutating func add(_ findings: Findings) {
        samples += findings.samples
        lost += findings.lost
        duplicated += findings.duplicated
        unexplained += findings.unexplained
        unreadable += findings.unreadable
        violations += findings.violations
    }

    /// Notes how long a recovery took.
    mutating func add(recovery: Duration) {
        longestRecovery = max(longestRecovery ?? 0, (recovery / .milliseconds(1)).rounded())
    }
}
