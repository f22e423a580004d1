import Configuration

/// What a person gave on the command line, by the key of the setting: the topmost layer of a configuration.
///
/// A flag that was not given leaves no trace, so that the environment, the file or the default decides.
package struct FlagValues: Sendable {
    /// The values as the configuration takes them.
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]

    /// No flag was given.
    package init() {}

    /// Takes over an option; `nil` says that it was not given.
    package mutating func set(_ key: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        values[AbsoluteConfigKey([key])] = ConfigValue(.string("\(value)"), isSecret: false)
    }

    /// Takes over an option that may be repeated; an empty array says that it was not given.
    package mutating func set(_ key: String, all list: [some CustomStringConvertible]) {
        guard !list.isEmpty else { return }
        values[AbsoluteConfigKey([key])] = ConfigValue(.stringArray(list.map { "\($0)" }), isSecret: false)
    }

    /// Takes over the options of a group.
    mutating func add(_ flags: FlagValues) { values.merge(flags.values) { $1 } }

    /// These without one of them.
    func without(_ key: String) -> FlagValues {
        var flags = self
        flags.values[AbsoluteConfigKey([key])] = nil
        return flags
    }

    /// Takes over a switch; `false` says that it was not given.
    package mutating func set(_ key: String, if isGiven: Bool) {
        if isGiven { set(key, true) }
    }

    /// The same as environment variables of a program that is started.
    package func variables(of program: Program) -> [String: String] {
        var variables: [String: String] = [:]
        for (key, value) in values {
            let words = ["holdfast", program.rawValue] + key.components
            let name = words.joined(separator: "_").uppercased().replacing("-", with: "_")
            variables[name] =
                switch value.content {
                case .string(let text): text
                case .stringArray(let texts): texts.joined(separator: ",")
                default: nil
                }
        }
        return variables
    }
}
