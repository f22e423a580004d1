import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// A page of the documentation as tests read it.
struct DocumentationPage: Sendable, CustomTestStringConvertible {
    /// A fenced block.
    struct Block: Sendable {
        /// The language of the fence: `sh`, `json`.
        let kind: String
        let text: String
        /// The line number of the fence, from 1.
        let line: Int
    }

    static let root = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
    static let programs = [
        "sensor-publisher", "recorder", "step-counter", "log-manager", "archiver", "console", "relay", "holdfast-keys",
    ]

    let path: FilePath
    /// The path relative to the project's directory.
    let name: String
    let text: String

    var testDescription: String { name }

    init(path: FilePath, name: String) throws {
        self.path = path
        self.name = name
        text = try String(contentsOfFile: path.string, encoding: .utf8)
    }

    /// README.md, then the pages of docs/.
    static func all() throws -> [DocumentationPage] {
        let pages = try FileManager.default.contentsOfDirectory(atPath: root.appending("docs").string)
        let names = ["README.md"] + pages.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
        return try names.map { try DocumentationPage(path: root.appending($0), name: $0) }
    }

    var lines: [Substring] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return text.hasSuffix("\n") ? lines.dropLast() : lines
    }

    var blocks: [Block] {
        var blocks: [Block] = []
        var open: (kind: String, start: Int)?
        for (index, line) in lines.enumerated() where line.hasPrefix("```") {
            if let (kind, start) = open {
                let text = lines[(start + 1)..<index].map { $0 + "\n" }.joined()
                blocks.append(Block(kind: kind, text: text, line: start + 1))
                open = nil
            } else {
                open = (String(line.dropFirst(3)), index)
            }
        }
        return blocks
    }

    /// The page's shell blocks, except those that call make or docker, or change the machine.
    var commands: String {
        blocks.filter { block in
            block.kind == "sh" && !["make ", "docker ", "sudo "].contains { block.text.hasPrefix($0) }
        }
        // Third-party readers of exports are not available on every machine.
        .filter { Readers.areInstalled || !$0.text.contains("<<'PYTHON'") && !$0.text.contains("bids-validator") }
        .map(\.text).joined()
    }

    /// The page without its blocks.
    var prose: String {
        var isBlock = false
        return lines.filter { line in
            if line.hasPrefix("```") { isBlock.toggle() }
            return !isBlock
        }.joined(separator: "\n")
    }

    /// The texts between backticks.
    var inlineCode: String { prose.matches(of: #/`([^`\n]+)`/#).map(\.output.1).joined(separator: "\n") }

    var links: [String] { prose.matches(of: #/\]\(([^)\s]+)\)/#).map { String($0.output.1) } }

    /// The anchors of the page's headings, as GitHub generates them.
    var anchors: Set<String> {
        let headings = prose.matches(of: #/(?m)^#+ (.+)$/#).map(\.output.1)
        return Set(
            headings.map { heading in
                String(
                    heading.lowercased().compactMap { character -> Character? in
                        if character == " " { return "-" }
                        return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
                    })
            })
    }
}
