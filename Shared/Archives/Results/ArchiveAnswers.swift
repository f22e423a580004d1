import Messages

/// The answers in a task's result, by key: `section_collection_result`.
///
/// The section is the innermost one. The collection is omitted if its name equals the result's. If a key is taken, the answer's
/// key is the full path of its steps; if that is taken too, a number is added. Nothing is overwritten. Null answers are left out.
struct ArchiveAnswers: Equatable {
    /// In the order of the result.
    private(set) var answers: [(key: String, value: JSONValue)] = []
    private var taken: Set<String> = []

    /// - Parameter isSeparate: whether a section's answers are in another archive.
    init(_ results: TaskResults, isSeparate: (String) -> Bool = { _ in false }) {
        add(results.steps + results.asyncResults, section: nil, collection: nil, path: [], isSeparate)
    }

    private mutating func add(
        _ nodes: [TaskResults.Node], section: String?, collection: String?, path: [String],
        _ isSeparate: (String) -> Bool
    ) {
        for node in nodes {
            let path = path + [node.identifier]
            switch node.content {
            case .answer(let value):
                if value == .null { continue }
                let parts = [section, collection == node.identifier ? nil : collection, node.identifier]
                add(value, key: parts.compactMap(\.self).joined(separator: "_"), path: path)
            case .collection(let nodes):
                add(nodes, section: section, collection: node.identifier, path: path, isSeparate)
            case .section(let results):
                if isSeparate(node.identifier) { continue }
                add(
                    results.steps + results.asyncResults, section: node.identifier, collection: nil, path: path,
                    isSeparate)
            case .file, .other: break
            }
        }
    }

    private mutating func add(_ value: JSONValue, key: String, path: [String]) {
        var name = key
        var count = 1
        while !taken.insert(name).inserted {
            name = path.joined(separator: "_") + (count > 1 ? "_\(count)" : "")
            count += 1
        }
        answers.append((name, value))
    }

    var json: JSONValue { .object(Dictionary(answers.map { ($0.key, $0.value) }) { first, _ in first }) }

    static func == (one: ArchiveAnswers, other: ArchiveAnswers) -> Bool {
        one.answers.elementsEqual(other.answers) { $0 == $1 }
    }
}
