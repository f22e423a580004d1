import Configuration
import FoundationEssentials
import Synchronization
import SystemPackage

/// Reads a program's settings: flags override the environment, which overrides the file, which overrides the default.
///
/// For the recorder's setting `sync-interval`, the first of these that has a value decides:
///
/// 1. the flag `--sync-interval`
/// 2. the environment variable `HOLDFAST_RECORDER_SYNC_INTERVAL`
/// 3. the environment variable `HOLDFAST_SYNC_INTERVAL` (an empty variable has no value)
/// 4. the configuration file's `{"recorder": {"sync-interval": …}}`
/// 5. the configuration file's `{"sync-interval": …}`
/// 6. the default
///
/// A list is a repeated flag, a variable with commas, or a JSON list. The file itself is the setting `config`. Read every
/// setting, regardless of the others' values; then call `finish()`, which refuses keys in the file that were never read: a
/// typing error must not select a default.
package final class ConfigurationReader {
    private let program: Program
    package let environment: [String: String]
    private let layers: ConfigReader
    private let access = LastAccess()
    /// For each layer, formats the source of a value from the setting's key and its encoded form there.
    private let sources: [(_ key: String, _ encodedKey: String) -> String]
    /// The parts of the file that this reader uses, nearest first.
    private let files: [ConfigurationFile]
    /// Needed by `finish()`, to find keys that were never read.
    private var keysRead: Set<String> = []
    private var children: [ConfigurationReader] = []

    /// Opens the layers, and reads the configuration file if one is given.
    /// - Parameters:
    ///   - flags: the command line's values.
    ///   - environment: all variables; only those that start with `HOLDFAST_` are used.
    /// - Throws: `ServiceError` (bad configuration) if the file can't be read.
    package convenience init(
        for program: Program, flags: FlagValues, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ServiceError) {
        let withoutFile = ConfigurationReader(program: program, flags: flags, environment: environment, files: [])
        guard let path = try withoutFile.value(\ServiceSettings.$config) else {
            self.init(program: program, flags: flags, environment: environment, files: [])
            return
        }
        let file = try ConfigurationFile(path: path)
        self.init(program: program, flags: flags, environment: environment, files: try file.layers(for: program))
        keysRead.insert("config")
    }

    private init(program: Program, flags: FlagValues, environment: [String: String], files: [ConfigurationFile]) {
        let variables = EnvironmentVariablesProvider(
            environmentVariables: environment.filter { $0.key.hasPrefix("HOLDFAST_") && !$0.value.isEmpty })
        self.program = program
        self.environment = environment
        self.files = files
        layers = ConfigReader(
            providers: [
                InMemoryProvider(name: "flags", values: flags.values),
                variables.prefixKeys(with: ["holdfast", program.rawValue]),
                variables.prefixKeys(with: ["holdfast"]),
            ] + files.map { InMemoryProvider(name: $0.name, values: $0.values) },
            accessReporter: access)
        sources =
            [{ key, _ in "--\(key)" }, { _, variable in variable }, { _, variable in variable }]
            + files.map { file in { key, _ in "\"\(key)\" in \(file.name)" } }
    }

    private init(program: Program, environment: [String: String], section: ConfigurationFile) {
        self.program = program
        self.environment = environment
        files = [section]
        layers = ConfigReader(
            provider: InMemoryProvider(name: section.name, values: section.values), accessReporter: access)
        sources = [{ key, _ in "\"\(key)\" in \(section.name)" }]
    }

    /// An optional setting.
    /// - Throws: `ServiceError` (bad configuration), naming the setting's source and a valid value.
    package func value<Value: ConfigurationValue>(_ key: String, as type: Value.Type) throws(ServiceError) -> Value? {
        try note(key)
        guard let text = layers.string(forKey: ConfigKey([key])) else {
            guard access.failed else { return nil }
            throw invalid(key, "this is a list: write one value")
        }
        return try parse(text, of: key)
    }

    /// A setting with its default.
    /// - Throws: `ServiceError` (bad configuration), naming the setting's source and a valid value.
    package func value<Value: ConfigurationValue>(
        _ key: String, default fallback: @autoclosure () -> Value
    ) throws(ServiceError) -> Value {
        try value(key, as: Value.self) ?? fallback()
    }

    /// A setting with any number of values; empty if no layer has one.
    /// - Throws: `ServiceError` (bad configuration), naming the setting's source and a valid value.
    package func values<Value: ConfigurationValue>(
        _ key: String, as type: Value.Type
    ) throws(ServiceError) -> [Value] {
        try note(key)
        // A file may have a single value without brackets, which the layers refuse to treat as a list.
        let texts =
            layers.stringArray(forKey: ConfigKey([key]))
            ?? (access.failed ? layers.string(forKey: ConfigKey([key])).map { [$0] } : nil) ?? []
        var values: [Value] = []
        for text in texts { values.append(try parse(text, of: key)) }
        return values
    }

    /// The objects of a list in the configuration file, such as several streams, each with a reader of its own.
    ///
    /// Their settings come only from the file. `finish()` checks them too.
    /// - Throws: `ServiceError` (bad configuration) if the key's value is not a list of objects.
    package func sections(_ key: String) throws(ServiceError) -> [ConfigurationReader] {
        keysRead.insert(key)
        for file in files {
            let entries: [[String: ConfigurationFile.Node]]
            switch file.entries[key] {
            case nil, .null: continue
            case .sections(let list): entries = list
            case .list(let list) where list.isEmpty: entries = []
            case .text, .list, .section:
                throw ServiceError(
                    .badConfiguration, "\"\(key)\" in \(file.name) is not a list of objects: write [{…}]")
            }
            let readers = entries.enumerated().map { index, entries in
                ConfigurationReader(
                    program: program, environment: environment,
                    section: ConfigurationFile(name: "\(key)[\(index)] in \(file.name)", entries: entries))
            }
            children += readers
            return readers
        }
        return []
    }

    /// Refuses keys in the file that were never read.
    /// - Throws: `ServiceError` (bad configuration), which names the key and lists the known ones.
    package func finish() throws(ServiceError) {
        for file in files {
            for key in file.entries.keys.sorted() where !keysRead.contains(key) {
                throw ServiceError(
                    .badConfiguration,
                    "\"\(key)\" in \(file.name) is not a setting of \(program): the settings are "
                        + keysRead.sorted().joined(separator: ", "))
            }
        }
        for child in children { try child.finish() }
    }

    /// Records that a setting is read. Layers ignore an object in its place, which must not select the default.
    private func note(_ key: String) throws(ServiceError) {
        keysRead.insert(key)
        for file in files {
            switch file.entries[key] {
            case .section, .sections:
                throw ServiceError(.badConfiguration, "\"\(key)\" in \(file.name) is an object: write a value")
            case nil, .text, .list, .null: continue
            }
        }
    }

    private func parse<Value: ConfigurationValue>(_ text: String, of key: String) throws(ServiceError) -> Value {
        do {
            return try Value(typed: text)
        } catch {
            throw invalid(key, error.description)
        }
    }

    private func invalid(_ key: String, _ reason: String) -> ServiceError {
        let (layer, encodedKey) = access.answer
        return ServiceError(.badConfiguration, "\(sources[layer](key, encodedKey ?? key)): \(reason)")
    }
}

extension ConfigurationFile {
    /// The parts of a whole file that a program reads: its own section, then the settings common to all.
    fileprivate func layers(for program: Program) throws(ServiceError) -> [ConfigurationFile] {
        var common = entries
        var own: [String: Node] = [:]
        for other in Program.allCases {
            switch common.removeValue(forKey: other.rawValue) {
            case nil, .null: continue
            case .section(let section): if other == program { own = section }
            case .text, .list, .sections:
                throw ServiceError(
                    .badConfiguration, "\"\(other)\" in \(name) is not an object: write {\"\(other)\": {…}}")
            }
        }
        return [
            ConfigurationFile(name: "\(name), section \(program)", entries: own),
            ConfigurationFile(name: name, entries: common),
        ]
    }
}

/// Remembers the layer of the last answer, so that a message can name the source of a bad value.
private final class LastAccess: AccessReporter {
    private let event = Mutex<AccessEvent?>(nil)

    func report(_ event: AccessEvent) { self.event.withLock { $0 = event } }

    /// Whether the layer with the key holds another kind of value than requested: a list, not a text.
    var failed: Bool {
        event.withLock { if case .failure = $0?.providerResults.last?.result { true } else { false } }
    }

    /// The layer that answered, counted from the top, and the key's name in it.
    var answer: (layer: Int, encodedKey: String?) {
        event.withLock { event in
            let results = event?.providerResults ?? []
            return (max(results.count - 1, 0), try? results.last?.result.get().encodedKey)
        }
    }
}
