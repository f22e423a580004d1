/// Settings whose value is one of a few words.
extension ConfigurationValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    package init(typed text: String) throws(InvalidValue) {
        guard let value = Self(rawValue: text) else {
            throw InvalidValue("'\(text)' is not one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }

    package var description: String { rawValue }
}
