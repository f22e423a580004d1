import ArgumentParser
import Synchronization

/// Settings that are read together: a program's, or a part of them. The properties are `@Setting`s and other groups.
package protocol SettingGroup: SettingMember {
    /// The heading in help; empty for none.
    static var title: String { get }

    init()

    /// Checks combinations of settings, and computes derived values, after all settings are read.
    /// - Throws: `ServiceError`.
    mutating func complete(reading reader: ConfigurationReader) throws(ServiceError)
}

/// A part of a group: a `Setting`, or another group.
package protocol SettingMember: Sendable {
    /// A name that differs from the property's.
    var name: String? { get }

    /// The help text: a sentence, or a heading.
    var help: String { get }

    /// Whether the configuration has a value.
    var isGiven: Bool { get }

    /// The member's option, flag or group of these, which ArgumentParser looks for in a type.
    func argument(named name: String) -> any Sendable

    /// The values given on the command line.
    func flags(in container: KeyedDecodingContainer<SettingKey>, named name: String) throws -> FlagValues

    /// Takes the value from a configuration, and checks it.
    /// - Throws: `ServiceError` (bad configuration).
    func read(_ key: String, from reader: ConfigurationReader) throws(ServiceError)
}

package struct SettingKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    package init(_ name: String) { stringValue = name }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { nil }
}

extension SettingGroup {
    package static var title: String { "" }
    package var name: String? { nil }
    package var help: String { Self.title }
    package var isGiven: Bool { members.contains { $0.member.isGiven } }

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {}

    /// Reads all settings, in the order of their declaration.
    /// - Throws: `ServiceError` (bad configuration).
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        self.init()
        try read("", from: reader)
        try complete(reading: reader)
    }

    /// The settings and groups in this group, with their names, in the order of their declaration.
    package var members: [(name: String, member: any SettingMember)] {
        Mirror(reflecting: self).children.compactMap { label, value in
            guard let label, let member = value as? any SettingMember else { return nil }
            return (member.name ?? Self.name(ofProperty: label), member)
        }
    }

    /// `sync-interval` for `_syncInterval`.
    private static func name(ofProperty label: String) -> String {
        label.drop { $0 == "_" }.reduce(into: "") { name, letter in
            name += letter.isUppercase ? "-\(letter.lowercased())" : "\(letter)"
        }
    }

    package func argument(named name: String) -> any Sendable {
        OptionGroup<SettingFlags<Self>>(title: Self.title)
    }

    package func flags(
        in container: KeyedDecodingContainer<SettingKey>, named name: String
    ) throws -> FlagValues {
        try container.decode(OptionGroup<SettingFlags<Self>>.self, forKey: SettingKey(name)).wrappedValue.flags
    }

    package func read(_ key: String, from reader: ConfigurationReader) throws(ServiceError) {
        for (name, member) in members { try member.read(name, from: reader) }
    }
}

/// The settings of a group on the command line: `@OptionGroup var settings: SettingFlags<RecorderSettings>`.
package struct SettingFlags<Group: SettingGroup>: ParsableArguments {
    /// The values given on the command line.
    package let flags: FlagValues

    package init() { flags = FlagValues() }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SettingKey.self)
        var flags = FlagValues()
        for (name, member) in Group().members { flags.add(try member.flags(in: container, named: name)) }
        self.flags = flags
    }

    /// A configuration with only these flags, ignoring environment and file.
    package func reader(for program: Program) throws(ServiceError) -> ConfigurationReader {
        try ConfigurationReader(for: program, flags: flags, environment: [:])
    }
}

/// ArgumentParser finds a type's options by reflection.
extension SettingFlags: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(self, children: MadeOptions.of(Group.self).map { name, option -> Mirror.Child in (name, option) })
    }
}

/// The options of groups, each created once: ArgumentParser reads them dozens of times at a program's start, and hundreds of
/// times in a debug build, which validates them.
private enum MadeOptions {
    typealias Options = [(name: String, option: any Sendable)]

    private static let all = Mutex<[ObjectIdentifier: Options]>([:])

    static func of<Group: SettingGroup>(_ type: Group.Type) -> Options {
        all.withLock { all in
            if let known = all[ObjectIdentifier(type)] { return known }
            let options = Group().members.map { name, member in (name, member.argument(named: name)) }
            all[ObjectIdentifier(type)] = options
            return options
        }
    }
}

extension ConfigurationReader {
    /// One setting of a group, independent of the others' values.
    /// - Throws: `ServiceError` (bad configuration).
    package func value<Group: SettingGroup, Value>(
        _ setting: KeyPath<Group, Setting<Value>>
    ) throws(ServiceError) -> Value {
        try read(setting).wrappedValue
    }

    /// One setting of a group, independent of the others' values; nil if it is not given.
    /// - Throws: `ServiceError` (bad configuration).
    package func given<Group: SettingGroup, Value>(
        _ setting: KeyPath<Group, Setting<Value>>
    ) throws(ServiceError) -> Value? {
        try read(setting).givenValue
    }

    private func read<Group: SettingGroup, Value>(
        _ path: KeyPath<Group, Setting<Value>>
    ) throws(ServiceError) -> Setting<Value> {
        let group = Group()
        let setting = group[keyPath: path]
        for case (let name, let member as Setting<Value>) in group.members where member === setting {
            try setting.read(name, from: self)
        }
        return setting
    }
}
