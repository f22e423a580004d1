import Configuration

/// The command line's values by setting key: the topmost layer of a configuration.
///
/// A flag that is not given has no entry, so that the environment, the file or the default decides.
package struct FlagValues: Sendable {
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]

    package init() {}

    /// Sets an option; nil if it was not given.
    package mutating func set(_ key: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        values[AbsoluteConfigKey([key])] = ConfigValue(.string("\(value)"), isSecret: false)
    }

    /// Sets an option that may be repeated; empty if it was not given.
    package mutating func set(_ key: String, all list: [some CustomStringConvertible]) {
        guard !list.isEmpty else { return }
        values[AbsoluteConfigKey([key])] = ConfigValue(.stringArray(list.map { "\($0)" }), isSecret: false)
    }

    /// Adds the options of a group.
    mutating func add(_ flags: FlagValues) { values.merge(flags.values) { $1 } }

    /// A copy without one option.
    func without(_ key: String) -> FlagValues {
        var flags = self
        flags.values[AbsoluteConfigKey([key])] = nil
        return flags
    }

    /// Sets a switch; false if it was not given.
    package mutating func set(_ key: String, if isGiven: Bool) {
        if isGiven { set(key, true) }
    }

    /// The same values as environment variables for a program that is started.
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
