/// The results for one kind of fault: a row of the table.
struct Row: Encodable, Sendable {
    /// The experiment's name, as used by `--only`.
    let name: String
    let fault: String
    var tries = 0
    /// Samples in the checked logs.
    var samples = 0
    /// Missing samples, explained or not.
    var lost = 0
    /// Samples that are there more than once.
    var duplicated = 0
    /// Samples that are missing or wrong without explanation.
    var unexplained = 0
    /// Files that do not parse.
    var unreadable = 0
    /// The longest time, in milliseconds, from the program's return until its logs had everything published by then.
    var longestRecovery: Double?
    /// The age of the oldest sample lost by a power cut, in milliseconds before the cut.
    var longestLoss: Double?
    /// Other measurements.
    var notes: [String] = []
    /// The reason for which the experiment was not run.
    var notRun: String?
    /// The violations, a sentence each.
    var violations: [String] = []

    init(_ experiment: any Experiment) {
        name = experiment.name
        fault = experiment.fault
    }

    /// Adds the oracle's findings.
    mutating func add(_ findings: Findings) {
        samples += findings.samples
        lost += findings.lost
        duplicated += findings.duplicated
        unexplained += findings.unexplained
        unreadable += findings.unreadable
        violations += findings.violations
    }

    mutating func add(recovery: Duration) {
        longestRecovery = max(longestRecovery ?? 0, (recovery / .milliseconds(1)).rounded())
    }
}
