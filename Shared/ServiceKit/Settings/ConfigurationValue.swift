package import ArgumentParser

/// A value with the same spelling on the command line, in the environment and in a configuration file.
///
/// `init(typed:)` must parse `description` to the same value, because flags pass through the configuration as text.
package protocol ConfigurationValue: CustomStringConvertible, Sendable {
    /// Parses a typed text.
    /// - Throws: `InvalidValue`, which explains the valid form.
    init(typed text: String) throws(InvalidValue)
}

extension ConfigurationValue {
    /// Parses a flag's value, for `ExpressibleByArgument`.
    package init?(argument: String) {
        guard let value = try? Self(typed: argument) else { return nil }
        self = value
    }
}

/// For types whose raw value ArgumentParser would parse too.
extension ConfigurationValue where Self: ExpressibleByArgument & RawRepresentable & CaseIterable, RawValue == String {
    package init?(argument: String) {
        self.init(rawValue: argument)
    }
}

/// Options whose errors are in the value's own words. ArgumentParser selects these initializers if an option's type has both
/// protocols, because they are more specialized.
extension Option {
    /// An optional option: `@Option(help: "…") var syncInterval: TimeSpan?`.
    package init<Typed: ConfigurationValue & ExpressibleByArgument>(
        name: NameSpecification = .long, help: ArgumentHelp? = nil
    ) where Value == Typed? {
        self.init(name: name, parsing: .next, help: help, completion: nil, transform: Typed.init(typed:))
    }

    /// An option that may be given several times: `@Option(help: "…") var subscribe: [Endpoint] = []`.
    package init<Typed: ConfigurationValue & ExpressibleByArgument>(
        wrappedValue: [Typed], name: NameSpecification = .long, help: ArgumentHelp? = nil
    ) where Value == [Typed] {
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .singleValue, help: help, completion: nil,
            transform: Typed.init(typed:))
    }
}
