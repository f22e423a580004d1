import ArgumentParser
import Logging

/// How log lines are written to standard error.
package enum LogStyle: String, CaseIterable, Hashable, Sendable {
    /// A line that people read.
    case text
    /// A JSON object a line: `timestamp`, `level`, `program`, `message`, and the line's metadata.
    case json
}

extension LogStyle: ConfigurationValue, ExpressibleByArgument {}

extension LogStyle {
    /// What was asked for, as far as it can be told where the rest of the configuration may make no sense.
    static func beforehand(for program: Program, flags: FlagValues, environment: [String: String]) -> LogStyle {
        if let reader = try? ConfigurationReader(for: program, flags: flags, environment: environment) {
            return (try? reader.value(\ServiceSettings.$logFormat)) ?? .text
        }
        // The file may be what makes no sense.
        let reader = try? ConfigurationReader(
            for: program, flags: flags.without("config"),
            environment: environment.filter { !$0.key.hasSuffix("_CONFIG") })
        return (try? reader?.value(\ServiceSettings.$logFormat)) ?? .text
    }

    /// What standard error gets for an error that ends a program.
    func line(for error: any Error, of program: Program) -> [UInt8] {
        switch self {
        case .text: Array("\(program): \(error)\n".utf8)
        case .json: LogLine(level: .critical, program: program.rawValue, message: "\(error)").bytes
        }
    }
}
