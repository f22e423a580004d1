/// One kind of fault, and a way to test it.
protocol Experiment: Sendable {
    var name: String { get }
    /// The fault, as the table names it.
    var fault: String { get }

    /// Tests the fault and notes the outcome. A thrown error is a violation too.
    func run(in lab: Laboratory, row: inout Row) async throws
}
