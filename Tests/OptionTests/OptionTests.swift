import Archiver
import ArgumentParser
import Console
import LogManager
import Recorder
import Relay
import SensorPublisher
import ServiceKit
import StepCounter
import TestSupport
import Testing

/// Every option of every program, found by its declaration, so that new options are tested automatically.
@Suite(.timeLimit(.minutes(1)))
struct OptionTests {
    /// Texts; each option accepts one that differs from its default.
    private static let examples = [
        "true", "7", "150ms", "1.5", "2/3", "ipc:///a", "https://a/", "file:///a", "json", "debug", "csv", "g", "wrist",
        "strict", "oldest", "answers", "path", "0600", "measured", "command", "ios", "continue",
        "ndjson", "mqtt://a", "nats://a",
    ]

    private struct Option {
        let name: String
        let setting: any SettingMember
        /// A text that the option accepts, and the resulting value.
        let text: String
        let value: String
        var isFlag: Bool { setting is Setting<Bool> }
        var variable: String { OptionTests.variable(name) }
        var entry: String { "\"\(name)\": \"\(text)\"" }
    }

    private struct NoExample: Error {
        let option: String
    }

    private static let programs: [any ServiceCommand.Type] = [
        SensorPublisherCommand.self, RecorderCommand.self, StepCounterCommand.self, LogManagerCommand.self,
        ArchiverCommand.self, ConsoleCommand.self, RelayCommand.self,
    ]

    private static func variable(_ name: String) -> String { name.uppercased().replacing("-", with: "_") }

    /// All settings of a group and its subgroups. `config` is left out: the file that it names cannot contain it.
    private static func settings(of group: any SettingGroup) -> [(name: String, setting: any SettingMember)] {
        group.members.flatMap { name, member in
            if let group = member as? any SettingGroup { return settings(of: group) }
            return name == "config" ? [] : [(name, member)]
        }
    }

    private static func settings<Command: ServiceCommand>(
        of command: Command.Type
    ) -> [(name: String, setting: any SettingMember)] {
        settings(of: ServiceSettings()) + settings(of: Command.Settings())
    }

    private static func reader(
        _ program: any ServiceCommand.Type, flags: FlagValues = FlagValues(), environment: [String: String] = [:]
    ) throws -> ConfigurationReader {
        try ConfigurationReader(for: program.program, flags: flags, environment: environment)
    }

    /// The options of a program, with values other than their defaults.
    private static func options(of program: any ServiceCommand.Type) throws -> [Option] {
        try settings(of: program).map { name, setting in
            let usual = "\(setting)"
            for text in examples {
                var flags = FlagValues()
                flags.set(name, text)
                guard (try? setting.read(name, from: reader(program, flags: flags))) != nil else { continue }
                let value = "\(setting)"
                if value != usual { return Option(name: name, setting: setting, text: text, value: value) }
            }
            throw NoExample(option: name)
        }
    }

    private static func flags<Command: ServiceCommand>(
        of command: Command.Type, _ arguments: [String]
    ) throws -> FlagValues {
        try Command.parse(arguments).flags
    }

    private static func expect(_ options: [Option], in reader: ConfigurationReader, _ source: String) throws {
        for option in options {
            try option.setting.read(option.name, from: reader)
            #expect("\(option.setting)" == option.value, "\(option.name) in \(source)")
        }
    }

    @Test func theseAreAllPrograms() {
        #expect(Set(Self.programs.map { $0.program }) == Set(Program.allCases))
    }

    @Test(arguments: programs.indices)
    func everyOptionIsReadFromFlagEnvironmentAndFile(index: Int) throws {
        let program = Self.programs[index]
        let all = try Self.options(of: program)
        // The other options would need an existing directory of keys.
        for options in [all.filter { $0.name != "keys" }, all.filter { $0.name == "keys" }] {
            let arguments = options.flatMap { $0.isFlag ? ["--\($0.name)"] : ["--\($0.name)", $0.text] }
            try Self.expect(options, in: Self.reader(program, flags: Self.flags(of: program, arguments)), "flags")

            for prefix in ["HOLDFAST_", "HOLDFAST_\(Self.variable(program.program.rawValue))_"] {
                let environment = Dictionary(uniqueKeysWithValues: options.map { (prefix + $0.variable, $0.text) })
                try Self.expect(options, in: Self.reader(program, environment: environment), "\(prefix)…")
            }

            let file = options.map(\.entry).joined(separator: ",")
            // A key with a program's name is that program's section, except within a section.
            let common = options.filter { Program(rawValue: $0.name) == nil }
            for (json, options) in [
                ("{\(common.map(\.entry).joined(separator: ","))}", common),
                ("{\"\(program.program)\": {\(file)}}", options),
            ] {
                try withFile("holdfast.json", json) { path in
                    let reader = try Self.reader(program, environment: ["HOLDFAST_CONFIG": path])
                    try Self.expect(options, in: reader, json)
                    try reader.finish()
                }
            }
        }
    }

    @Test(arguments: programs.indices)
    func helpHasEveryOptionWithItsDefault(index: Int) throws {
        let program = Self.programs[index]
        let help = program.helpMessage(columns: 10_000)
        for (name, setting) in Self.settings(of: program) {
            #expect(help.contains("--\(name)") && help.contains(setting.help), "\(name)")
            let usual = "\(setting)"
            if ["nil", "false", "[]"].contains(usual) { continue }
            let parts = setting.help.split(separator: "(default: ", maxSplits: 1)
            let shown = try #require(parts.count == 2 ? parts[1].dropLast(2) : nil, "\(name)")
            // The text after a comma explains the value.
            var flags = FlagValues()
            flags.set(name, String(shown.split(separator: ", ")[0]))
            try setting.read(name, from: Self.reader(program, flags: flags))
            #expect("\(setting)" == usual)
        }
    }
}
