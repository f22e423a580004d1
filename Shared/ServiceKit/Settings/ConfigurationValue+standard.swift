package import Logging
package import SystemPackage

extension String: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard !text.isEmpty else { throw InvalidValue("an empty text is not a value") }
        self = text
    }
}

extension Int: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard let value = Int(text) else { throw InvalidValue("'\(text)' is not a whole number") }
        self = value
    }
}

extension Double: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard let value = Double(text), value.isFinite else {
            throw InvalidValue("'\(text)' is not a number: write 100, 0.5 or 1e-3")
        }
        self = value
    }
}

extension Bool: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        switch text.lowercased() {
        case "true", "yes", "on", "1": self = true
        case "false", "no", "off", "0": self = false
        default: throw InvalidValue("'\(text)' is neither true nor false")
        }
    }
}

extension FilePath: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard !text.isEmpty else { throw InvalidValue("an empty text is not a path") }
        self.init(text)
    }
}

extension Logger.Level: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard let level = Logger.Level(rawValue: text.lowercased()) else {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidValue("'\(text)' is not a log level: write one of \(levels)")
        }
        self = level
    }
}
