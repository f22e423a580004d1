/// A program's log over all its lives, if it was to write JSON objects.
struct WrittenLog: Sendable {
    private(set) var lines = 0
    /// The lines that do not belong to this program, or are malformed.
    private(set) var problems: [String] = []

    /// Reads what one life of the program wrote to standard error.
    mutating func take(_ text: String, of program: String) {
        for line in text.split(separator: "\n") {
            lines += 1
            let object = try? StrictJSON(line.utf8)
            let isWhole = ["timestamp", "level", "message"].allSatisfy { object?[$0]?.string != nil }
            if !isWhole || object?["program"]?.string != program {
                problems.append("\(program) wrote no line of its log: \(line)")
            }
        }
    }

    static func + (one: WrittenLog, other: WrittenLog) -> WrittenLog {
        var sum = one
        sum.lines += other.lines
        sum.problems += other.problems
        return sum
    }
}
