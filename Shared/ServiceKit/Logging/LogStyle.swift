import ArgumentParser
import Logging

/// The format of log lines on standard error.
package enum LogStyle: String, CaseIterable, Hashable, Sendable {
    /// Lines for people.
    case text
    /// One JSON object per line: `timestamp`, `level`, `program`, `message`, and the line's metadata.
    case json
}

extension LogStyle: ConfigurationValue, ExpressibleByArgument {}

extension LogStyle {
    /// The configured format, as far as it can be determined if the rest of the configuration is invalid.
    static func beforehand(for program: Program, flags: FlagValues, environment: [String: String]) -> LogStyle {
        if let reader = try? ConfigurationReader(for: program, flags: flags, environment: environment) {
            return (try? reader.value(\ServiceSettings.$logFormat)) ?? .text
        }
        // The file may be the invalid part.
        let reader = try? ConfigurationReader(
            for: program, flags: flags.without("config"),
            environment: environment.filter { !$0.key.hasSuffix("_CONFIG") })
        return (try? reader?.value(\ServiceSettings.$logFormat)) ?? .text
    }

    /// The line on standard error for an error that ends a program.
    func line(for error: any Error, of program: Program) -> [UInt8] {
        switch self {
        case .text: Array("\(program): \(error)\n".utf8)
        case .json: LogLine(level: .critical, program: program.rawValue, message: "\(error)").bytes
        }
    }
}
