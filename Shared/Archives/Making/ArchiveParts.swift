import Messages
import Recording

/// How a task's result is divided among archives: what is of the task itself, and of each section that gets an archive
/// of its own.
struct ArchiveParts {
    /// A file that a result names.
    struct File: Hashable {
        let file: TaskResults.File
        let identifier: String
        let stepPath: String
    }

    /// What goes into one archive.
    struct Part {
        /// The section; `nil` for the task.
        let section: String?
        /// What is added to the session's name; `nil` for the task. Sections of one name are counted.
        let number: String?
        let results: TaskResults?
        var files: [File] = []
    }

    /// The task's, then the sections' in the order in which they were met.
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
