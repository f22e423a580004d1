import FoundationEssentials
import SystemPackage

/// The tables of docs/metrics.md.
enum DocumentedMetrics {
    struct Row: Hashable {
        let name: String
        let type: String
        let unit: String
        let labels: Set<String>
        let help: String
    }

    /// The rows by the heading above them: `Every program`, `recorder`.
    static func read() throws -> [String: Set<Row>] {
        let path = DocumentationPage.root.appending("docs/metrics.md")
        let text = try String(contentsOfFile: path.string, encoding: .utf8)
        var heading = ""
        var rows: [String: Set<Row>] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { heading = plain(line.dropFirst(3)) }
            guard line.hasPrefix("| `") else { continue }
            let cells = line.split(separator: "|").map(plain)
            guard cells.count == 5 else { continue }
            let labels = cells[3].split(separator: ",").map(plain)
            rows[heading, default: []].insert(
                Row(name: cells[0], type: cells[1], unit: cells[2], labels: Set(labels), help: cells[4]))
        }
        return rows
    }

    /// The unit in a family's name, by Prometheus' conventions.
    static func unit(of name: String) -> String {
        let words = name.split(separator: "_").filter { $0 != "total" }
        return ["seconds", "bytes", "hertz"].first { words.contains(Substring($0)) } ?? ""
    }

    private static func plain(_ text: some StringProtocol) -> String {
        String(text.filter { $0 != "`" }).split(separator: " ").joined(separator: " ")
    }
}
