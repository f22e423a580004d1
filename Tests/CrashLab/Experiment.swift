/// One kind of fault, and how it is tried.
protocol Experiment: Sendable {
    /// A short name, for `--only`.
    var name: String { get }
    /// The fault, as the table names it.
    var fault: String { get }

    /// Tries the fault and notes what came of it. What it throws is a violation too.
    func run(in lab: Laboratory, row: inout Row) async throws
}
