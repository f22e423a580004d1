import FoundationEssentials
import SystemPackage

/// Records of any kind, as a recording that can be replayed endlessly: values that tables must quote, texts that look like
/// numbers, nested values, and empty ones.
enum RecordsFile {
    /// The number of rows before the recording repeats.
    private static let count = 997

    /// Writes the recording as NDJSON. The first row determines each field's type.
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
