import FoundationEssentials
import SystemPackage

/// The results of a laboratory run, as a table for people and as JSON.
struct Outcome: Encodable, Sendable {
    /// The seed that repeats the run's choices.
    let seed: UInt64
    /// The approximate number of kills.
    let crashes: Int
    var rows: [Row] = []

    var isClean: Bool { rows.allSatisfy(\.violations.isEmpty) }

    var table: String {
        let header = ["fault", "tries", "samples", "lost", "duplicated", "unexplained", "do not parse", "recovery, ms"]
        let lines = rows.map { row -> [String] in
            if let reason = row.notRun {
                return ["\(row.fault): NOT RUN, \(reason)"] + header.dropFirst().map { _ in "-" }
            }
            let numbers = [row.tries, row.samples, row.lost, row.duplicated, row.unexplained, row.unreadable]
            return [row.fault] + numbers.map(String.init) + [row.longestRecovery.map { "\(Int($0))" } ?? "-"]
        }
        let text = ([header, header.map { _ in "---" }] + lines).map { "| " + $0.joined(separator: " | ") + " |" }
        let notes = rows.flatMap { row in row.notes.map { "\(row.fault): \($0)" } }
        return (text + notes).joined(separator: "\n") + "\n"
    }

    /// Writes the results to a file as JSON.
    func write(to path: FilePath) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + [UInt8(ascii: "\n")]).write(to: URL(filePath: path.string))
    }
}
