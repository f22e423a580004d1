import Configuration
import FoundationEssentials
import MessageBus
import Messages
import SystemPackage

/// A JSON configuration file, or a part of one: one object whose keys are settings and sections.
///
/// A value is text, a number, true or false, a list of these, an object (a section) or a list of objects (sections).
/// Numbers and truth values become text: every setting has one spelling wherever it is written. `null` is as good as
/// leaving a key out.
struct ConfigurationFile {
    /// A value in the file.
    enum Node {
        case text(String)
        case list([String])
        case section([String: Node])
        case sections([[String: Node]])
        case null
    }

    /// Where it is, for messages: `holdfast.json`, `streams[0] in holdfast.json`.
    let name: String
    /// What it holds.
    let entries: [String: Node]

    /// More than any sensible configuration; a wrong path to a recording should not be read into memory.
    private static let maximumSize = 1 << 20

    /// A part of a file that was read.
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

    /// Reads the text of a file.
    /// - Throws: `ServiceError`, which names the file and what is wrong in it.
    init(name: String, json: [UInt8]) throws(ServiceError) {
        do {
            // The decoder does not say where it stumbles; the scanner does.
            if let place = Self.firstMistake(in: json) { throw InvalidValue(place) }
            self.init(name: name, entries: try JSONDecoder().decode([String: Node].self, from: Data(json)))
        } catch {
            throw ServiceError(.badConfiguration, "\(name): \(Self.explain(error))")
        }
    }

    /// The settings in it, for a configuration layer.
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
