package import Messages

extension Role: ConfigurationValue, CustomStringConvertible {
    /// Parses a role's word.
    /// - Throws: `InvalidValue` with the known words.
    package init(typed text: String) throws(InvalidValue) {
        guard let role = Role(rawValue: text) else {
            let words = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidValue("the role '\(text.prefix(20))' is not one of \(words)")
        }
        self = role
    }
}
