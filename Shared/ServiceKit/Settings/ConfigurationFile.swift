import Configuration
import FoundationEssentials
import MessageBus
import Messages
import SystemPackage

/// A JSON configuration file, or a part of one: one object whose keys are settings and sections.
///
/// A value is text, a number, true or false, a list of these, an object (a section) or a list of objects (sections). Numbers
/// and truth values become text, because every setting has one spelling in all sources. `null` is the same as omitting the key.
struct ConfigurationFile {
    enum Node {
        case text(String)
        case list([String])
        case section([String: Node])
        case sections([[String: Node]])
        case null
    }

    /// The file's name for messages, or the part's: `holdfast.json`, `streams[0] in holdfast.json`.
    let name: String
    let entries: [String: Node]

    /// In bytes; more than any sensible configuration. A wrong path to a recording must not be read into memory.
    private static let maximumSize = 1 << 20

    /// Creates a part of a file.
    init(name: String, entries: [String: Node]) {
        self.name = name
        self.entries = entries
    }

    /// Reads a file.
    /// - Throws: `ServiceError`, which names the file.
    init(path: FilePath) throws(ServiceError) {
        let bytes: [UInt8]
        do {
            bytes = try SmallFile(path, limit: Self.maximumSize).bytes
        } catch {
            throw ServiceError(.badConfiguration, "the configuration file \(path) can't be read: \(error)")
        }
        guard bytes.count <= Self.maximumSize else {
            throw ServiceError(.badConfiguration, "\(path) is too large for a configuration file: is it the right one?")
        }
        try self.init(name: path.string, json: bytes)
    }

    /// Parses the text of a file.
    /// - Throws: `ServiceError`, which names the file and the fault.
    init(name: String, json: [UInt8]) throws(ServiceError) {
        do {
            // The decoder does not report the position of an error; the scanner does.
            if let place = Self.firstMistake(in: json) { throw InvalidValue(place) }
            self.init(name: name, entries: try JSONDecoder().decode([String: Node].self, from: Data(json)))
        } catch {
            throw ServiceError(.badConfiguration, "\(name): \(Self.explain(error))")
        }
    }

    /// The settings in the file, for a configuration layer.
    var values: [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, node) in entries {
            let content: ConfigContent
            switch node {
            case .text(let text): content = .string(text)
            case .list(let list): content = .stringArray(list)
            case .section, .sections, .null: continue
            }
            values[AbsoluteConfigKey([key])] = ConfigValue(content, isSecret: false)
        }
        return values
    }

    private static func firstMistake(in json: [UInt8]) -> String? {
        json.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            do {
                try scanner.skipValue()
                try scanner.finish()
                return nil
            } catch {
                let line = bytes[..<scanner.index].count { $0 == UInt8(ascii: "\n") } + 1
                return "line \(line): \(error)"
            }
        }
    }

    private static func explain(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context) where context.codingPath.isEmpty:
            "a configuration file is one JSON object: {\"data\": \"/srv/holdfast\"}"
        case .some(let error): error.sentence
        case nil: "\(error)"
        }
    }
}

extension ConfigurationFile.Node: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let section = try? container.decode([String: Self].self) {
            self = .section(section)
        } else if let text = Self.text(in: container) {
            self = .text(text)
        } else {
            let elements = try container.decode([Self].self)
            let texts = elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
            let sections = elements.compactMap { if case .section(let section) = $0 { section } else { nil } }
            if texts.count == elements.count {
                self = .list(texts)
            } else if sections.count == elements.count {
                self = .sections(sections)
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "a list holds values, or objects, and not both")
            }
        }
    }

    private static func text(in container: any SingleValueDecodingContainer) -> String? {
        if let text = try? container.decode(String.self) { return text }
        if let truth = try? container.decode(Bool.self) { return "\(truth)" }
        if let whole = try? container.decode(Int64.self) { return "\(whole)" }
        return (try? container.decode(Double.self)).map { "\($0)" }
    }
}
