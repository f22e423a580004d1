import Messages
import Recording

/// Divides a task's result among archives: one for the task, and one for each separate section.
struct ArchiveParts {
    /// A file named in a result.
    struct File: Hashable {
        let file: TaskResults.File
        let identifier: String
        let stepPath: String
    }

    /// The content of one archive.
    struct Part {
        /// The section; `nil` for the task.
        let section: String?
        /// The suffix of the archive's name; `nil` for the task. Sections of the same name are numbered.
        let number: String?
        let results: TaskResults?
        var files: [File] = []
    }

    /// The task's part, then the sections' in the order of the result.
    private(set) var parts: [Part]
    private let separate: ArchiveChoices.SeparateSections

    init(_ results: TaskResults?, _ separate: ArchiveChoices.SeparateSections, task: String) {
        self.separate = separate
        parts = [Part(section: nil, number: nil, results: results)]
        if let results { add(results, to: 0, path: task.isEmpty ? [] : [task]) }
    }

    private mutating func add(_ results: TaskResults, to part: Int, path: [String]) {
        add(results.steps + results.asyncResults, to: part, path: path)
    }

    private mutating func add(_ nodes: [TaskResults.Node], to part: Int, path: [String]) {
        for node in nodes {
            switch node.content {
            case .file(let file):
                parts[part].files.append(
                    File(file: file, identifier: node.identifier, stepPath: path.joined(separator: "/")))
            case .collection(let nodes): add(nodes, to: part, path: path + [node.identifier])
            case .section(let results):
                var index = part
                if separate.contains(node.identifier) {
                    index = parts.count
                    parts.append(
                        Part(section: node.identifier, number: number(node.identifier), results: results))
                }
                add(results, to: index, path: path + [node.identifier])
            case .answer, .other: break
            }
        }
    }

    private func number(_ section: String) -> String {
        let name = LogName(section).text
        var number = name
        var count = 2
        while parts.contains(where: { $0.number?.lowercased() == number.lowercased() }) {
            number = "\(name)-\(count)"
            count += 1
        }
        return number
    }
}
