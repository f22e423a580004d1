import FoundationEssentials
import SystemPackage

/// Records of any kind, as a recording that can be replayed without end: what must be quoted in a table, what looks like a number
/// and is none, nested values, and nothing at all.
enum RecordsFile {
    /// Rows until it begins anew.
    private static let count = 997

    /// Writes it as NDJSON. The first row decides each field's type.
    static func write(to path: FilePath) throws {
        let labels = ["sit", "walk, slowly", "say \\\"go\\\"", "12", "Kävely", "line\\nbreak", ""]
        var text = ""
        for row in 0..<count {
            let label = labels[row % labels.count]
            let score = row % 5 == 3 ? "null" : "\(Double(row) * 0.1)"
            let second = row % 60
            let date = "2026-11-21T08:00:\(second < 10 ? "0" : "")\(second)Z"
            let touches = #"[{"phase":"began","at":[\#(row),0.5]}]"#
            text += #"{"t":\#(Double(row) / 100),"label":"\#(label)","score":\#(score),"isDown":\#(row % 3 == 0),"#
            text += #""at":"\#(date)","touches":\#(row % 7 == 6 ? "null" : touches)}"# + "\n"
        }
        try Data(text.utf8).write(to: URL(filePath: path.string))
    }
}
