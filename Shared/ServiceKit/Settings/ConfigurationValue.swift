package import ArgumentParser

/// A value that can be typed on the command line, in the environment and in a configuration file, in one spelling.
///
/// `description` must be read back by `init(typed:)` as the same value: flags travel through the configuration as text.
package protocol ConfigurationValue: CustomStringConvertible, Sendable {
    /// Reads what a person typed.
    /// - Throws: `InvalidValue`, which says what would be right.
    init(typed text: String) throws(InvalidValue)
}

extension ConfigurationValue {
    /// Reads a flag's value, for `ExpressibleByArgument`.
    package init?(argument: String) {
        guard let value = try? Self(typed: argument) else { return nil }
        self = value
    }
}

/// Where ArgumentParser would read the raw value too.
extension ConfigurationValue where Self: ExpressibleByArgument & RawRepresentable & CaseIterable, RawValue == String {
    package init?(argument: String) {
        self.init(rawValue: argument)
    }
}

/// Options whose mistakes are explained in the value's own words. ArgumentParser finds these by itself wherever an
/// option's type has both protocols, because they are the more special initialisers.
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
