package import Messages

extension Role: ConfigurationValue, CustomStringConvertible {
    /// Reads the word for a role.
    /// - Throws: `InvalidValue` with the words that there are.
    package init(typed text: String) throws(InvalidValue) {
        guard let role = Role(rawValue: text) else {
            let words = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidValue("the role '\(text.prefix(20))' is not one of \(words)")
        }
        self = role
    }
}
