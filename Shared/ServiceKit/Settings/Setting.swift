import ArgumentParser
import Synchronization

/// The single declaration of an option: name, type, help, default and check. The flag, the environment variable, the key in the
/// configuration file and the help with its "(default: …)" derive from it.
///
/// ```swift
/// struct RecorderSettings: SettingGroup {
///     @Setting("Make data durable this often.", accepting: { $0 >= .milliseconds(10) }, otherwise: "10ms or more")
///     var syncInterval = TimeSpan.milliseconds(100)
///     @Setting("Serve metrics here.", valueName: "port", default: "nowhere") var metrics: Int?
///     @Setting("Subscribe to this publisher; may be repeated.") var subscribe: [Endpoint] = []
///     @Setting("Allow connections to other machines without keys.") var insecure = false
/// }
/// ```
///
/// The name is the property's, `sync-interval` here. The property has the default until its group reads a configuration, and is
/// constant afterwards.
@propertyWrapper
package final class Setting<Value: Sendable>: Sendable {
    /// The form on the command line.
    private enum Form {
        /// `--name value`; without the early check, an invalid value is a bad configuration, not bad usage.
        case option(valueName: String?, isCheckedEarly: Bool)
        /// `--name value`, any number of times.
        case list(valueName: String?)
        /// `--name`.
        case flag
    }

    /// Checks a value, including the default; the check may read other settings.
    typealias Check = @Sendable (Value, _ key: String, ConfigurationReader) throws(ServiceError) -> Void

    package let name: String?
    /// The help text: a description with the default.
    package let help: String
    private let form: Form
    private let fallback: Value
    private let given = Mutex<Value?>(nil)
    /// Refuses a text that can't be parsed.
    private let test: @Sendable (String) throws(InvalidValue) -> Void
    private let find: @Sendable (ConfigurationReader, _ key: String) throws(ServiceError) -> Value?
    private let check: Check

    private init(
        _ help: String, name: String?, form: Form, fallback: Value, shown: String?,
        test: @escaping @Sendable (String) throws(InvalidValue) -> Void,
        find: @escaping @Sendable (ConfigurationReader, _ key: String) throws(ServiceError) -> Value?,
        check: @escaping Check
    ) {
        self.name = name
        self.help = if let shown, !shown.isEmpty { "\(help.dropLast()) (default: \(shown))." } else { help }
        self.form = form
        self.fallback = fallback
        self.test = test
        self.find = find
        self.check = check
    }

    package var wrappedValue: Value { given.withLock { $0 } ?? fallback }

    package var projectedValue: Setting { self }

    /// The value that was given; nil if none was.
    package var givenValue: Value? { given.withLock { $0 } }
}

// MARK: declarations

extension Setting {
    /// A setting with a default.
    /// - Parameters:
    ///   - help: a sentence with its full stop.
    ///   - name: a name that differs from the property's.
    ///   - valueName: the value's name in help; the setting's name if nil.
    ///   - words: the default in help; the default as typed if nil.
    ///   - isAccepted: whether a value is valid.
    ///   - advice: what to write instead of an invalid value: `1 or more`.
    package convenience init(
        wrappedValue: Value, _ help: String, name: String? = nil, valueName: String? = nil,
        default words: String? = nil,
        accepting isAccepted: @escaping @Sendable (Value) -> Bool = { _ in true }, otherwise advice: String = ""
    ) where Value: ConfigurationValue {
        self.init(
            help, name: name, form: .option(valueName: valueName, isCheckedEarly: true), fallback: wrappedValue,
            shown: words ?? wrappedValue.typed, test: Value.test,
            find: { reader, key throws(ServiceError) in try reader.value(key, as: Value.self) },
            check: { value, key, _ throws(ServiceError) in
                if !isAccepted(value) { throw ServiceError(refusing: value, of: key, advice) }
            })
    }

    /// A setting without a default; the program decides what happens then.
    /// - Parameters:
    ///   - words: the default in help, if any.
    ///   - isCheckedEarly: whether an invalid flag is bad usage, rather than a bad configuration.
    package convenience init<Typed: ConfigurationValue>(
        _ help: String, name: String? = nil, valueName: String? = nil, default words: String? = nil,
        isCheckedEarly: Bool = true,
        accepting isAccepted: @escaping @Sendable (Typed) -> Bool = { _ in true }, otherwise advice: String = ""
    ) where Value == Typed? {
        self.init(
            help, name: name, form: .option(valueName: valueName, isCheckedEarly: isCheckedEarly), fallback: nil,
            shown: words, test: Typed.test,
            find: { reader, key throws(ServiceError) in try reader.value(key, as: Typed.self).map(Optional.some) },
            check: { value, key, _ throws(ServiceError) in
                if let value, !isAccepted(value) { throw ServiceError(refusing: value, of: key, advice) }
            })
    }

    /// A setting with any number of values.
    package convenience init<Typed: ConfigurationValue>(
        wrappedValue: [Typed], _ help: String, name: String? = nil, valueName: String? = nil,
        default words: String? = nil
    ) where Value == [Typed] {
        self.init(wrappedValue: wrappedValue, help, name: name, valueName: valueName, default: words) {
            _, _, _ throws(ServiceError) in
        }
    }

    /// A setting with any number of values, and a check of all of them.
    convenience init<Typed: ConfigurationValue>(
        wrappedValue: [Typed], _ help: String, name: String? = nil, valueName: String? = nil,
        default words: String? = nil, check: @escaping Check
    ) where Value == [Typed] {
        self.init(
            help, name: name, form: .list(valueName: valueName), fallback: wrappedValue,
            shown: words ?? wrappedValue.map(\.typed).joined(separator: ", "), test: Typed.test,
            find: { reader, key throws(ServiceError) in
                let values = try reader.values(key, as: Typed.self)
                return values.isEmpty ? nil : values
            }, check: check)
    }

    /// A setting with a default, and a check that may read other settings.
    convenience init(
        wrappedValue: Value, _ help: String, valueName: String?, default words: String? = nil, check: @escaping Check
    ) where Value: ConfigurationValue {
        self.init(
            help, name: nil, form: .option(valueName: valueName, isCheckedEarly: true), fallback: wrappedValue,
            shown: words ?? wrappedValue.typed, test: Value.test,
            find: { reader, key throws(ServiceError) in try reader.value(key, as: Value.self) }, check: check)
    }

    /// A switch, off by default.
    package convenience init(wrappedValue: Bool, _ help: String, name: String? = nil) where Value == Bool {
        self.init(
            help, name: name, form: .flag, fallback: wrappedValue, shown: nil, test: Bool.test,
            find: { reader, key throws(ServiceError) in try reader.value(key, as: Bool.self) },
            check: { _, _, _ throws(ServiceError) in })
    }
}

extension ConfigurationValue {
    /// Refuses a text that can't be parsed.
    @Sendable fileprivate static func test(_ text: String) throws(InvalidValue) { _ = try Self(typed: text) }

    /// The value in the form that people type: 1 rather than 1.0.
    fileprivate var typed: String {
        self is Double && description.hasSuffix(".0") ? String(description.dropLast(2)) : description
    }
}

extension ServiceError {
    fileprivate init(refusing value: some ConfigurationValue, of key: String, _ advice: String) {
        self.init(.badConfiguration, "\(key) is \(value): write \(advice)")
    }
}

// MARK: what is made of a declaration

extension Setting: SettingMember {
    package var isGiven: Bool { givenValue != nil }

    package func argument(named name: String) -> any Sendable {
        let test = test
        let unchecked: @Sendable (String) throws -> String = { try String(typed: $0) }
        let checked: @Sendable (String) throws -> String = { text in
            try test(text)
            return text
        }
        switch form {
        case .option(let valueName, let isCheckedEarly):
            return Option<String?>(
                name: .customLong(name), parsing: .next, help: ArgumentHelp(help, valueName: valueName),
                completion: nil, transform: isCheckedEarly ? checked : unchecked)
        case .list(let valueName):
            return Option<[String]>(
                wrappedValue: [], name: .customLong(name), parsing: .singleValue,
                help: ArgumentHelp(help, valueName: valueName), completion: nil, transform: checked)
        case .flag:
            return Flag<Bool>(wrappedValue: false, name: .customLong(name), help: ArgumentHelp(help))
        }
    }

    package func flags(
        in container: KeyedDecodingContainer<SettingKey>, named name: String
    ) throws -> FlagValues {
        var flags = FlagValues()
        let key = SettingKey(name)
        switch form {
        case .option: flags.set(name, try container.decode(Option<String?>.self, forKey: key).wrappedValue)
        case .list: flags.set(name, all: try container.decode(Option<[String]>.self, forKey: key).wrappedValue)
        case .flag: flags.set(name, if: try container.decode(Flag<Bool>.self, forKey: key).wrappedValue)
        }
        return flags
    }

    package func read(_ key: String, from reader: ConfigurationReader) throws(ServiceError) {
        let value = try find(reader, key)
        try check(value ?? fallback, key, reader)
        given.withLock { $0 = value }
    }
}

extension Setting: CustomStringConvertible {
    package var description: String { "\(wrappedValue)" }
}
