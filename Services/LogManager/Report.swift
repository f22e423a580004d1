import ArgumentParser
import Messages
import Recording
import ServiceKit

/// A table for people or programs.
struct Report {
    let columns: [String]
    let rows: [[String]]
    /// Which columns are text, and not numbers.
    let textColumns: Set<Int>

    /// The table in a format that has rows.
    /// - Parameter values: what the rows are of, for `ndjson`.
    func text(_ format: ReportFormat, values: [some Encodable]) throws -> String {
        switch format {
        case .text:
            TextColumns.aligned([columns] + rows, textColumns: textColumns).map { $0 + "\n" }.joined()
        case .csv:
            ([columns] + rows).map { row in
                row.map { TableText.quoted($0, delimiter: UInt8(ascii: ",")) }.joined(separator: ",") + "\n"
            }.joined()
        case .ndjson, .json:
            try values.map { String(decoding: try WireCoding.encode($0), as: UTF8.self) + "\n" }.joined()
        }
    }

    /// A value as one line of JSON.
    static func json(_ value: some Encodable) throws -> String {
        String(decoding: try WireCoding.encode(value), as: UTF8.self) + "\n"
    }

    /// Asks the running log-manager, and prints what is made of its answers.
    static func print(
        with options: ServiceOptions, _ body: (RunningProgram) async throws -> String
    ) async throws {
        do {
            let text = try await body(RunningProgram(.logManager, options: options))
            StandardStream.output.print(text)
        } catch {
            StandardStream.error.print("log-manager: \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }
}
