package import Messages

/// Selects the fields of an input that a stream publishes.
package struct FieldChoice: Hashable, Sendable {
    /// A requested field.
    package struct Field: Hashable, Sendable {
        /// Its name in the input; `gravity.x` is a member of an object.
        package var name: String
        package var type: FieldType

        package init(_ name: String, _ type: FieldType) {
            self.name = name
            self.type = type
        }
    }

    /// The most fields of a stream of records.
    package static let maximumCount = 1_000

    /// The requested fields; nil for those of the first line.
    package var fields: [Field]?
    /// Whether it takes numbers only, regardless of the first line: they are packed, or converted.
    package var isNumeric = false
    /// Whether it has the fields of `DeviceMotion`.
    package var isMotion = false

    package init(fields: [Field]? = nil, isNumeric: Bool = false, isMotion: Bool = false) {
        self.fields = fields
        self.isNumeric = isNumeric
        self.isMotion = isMotion
    }

    /// Whether records were requested.
    var asksForRecords: Bool { fields?.contains { $0.type != .number } ?? false }

    /// Reads `label:text,lat,lon`: names with their types, which are numbers by default.
    ///
    /// - Throws: `invalidParameter` for an unknown type, for a name that is empty, reserved, repeated or too long, and
    ///   for too many names.
    package static func fields(_ text: String) throws(PublisherError) -> [Field] {
        var fields: [Field] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let colon = part.lastIndex(of: ":")
            let name = trimmed(part[..<(colon ?? part.endIndex)])
            let type = colon.map { FieldType(rawValue: trimmed(part[part.index(after: $0)...])) } ?? .number
            guard [.number, .text, .boolean, .date, .json].contains(type) else {
                throw PublisherError(
                    .invalidParameter,
                    "fields: \"\(type.rawValue)\" is not a type; write number, text, boolean, date or json, as in label:text"
                )
            }
            guard !name.isEmpty, name.lowercased() != FieldOrder.reserved, !fields.contains(where: { $0.name == name })
            else {
                throw PublisherError(
                    .invalidParameter,
                    "fields: \"\(name)\" is empty, reserved or repeated; write names as in lat,lon")
            }
            guard !FieldName.isTooLong(name) else { throw tooLong(name, .invalidParameter) }
            fields.append(Field(name, type))
        }
        guard fields.count <= maximumCount else {
            throw PublisherError(
                .invalidParameter, "fields: \(fields.count) are too many; write \(maximumCount) at most")
        }
        return fields
    }

    /// Refuses the names that an input gives to its fields.
    /// - Throws: `invalidInput` for a name that is too long.
    static func check(_ names: [String]) throws(PublisherError) {
        if let name = names.first(where: FieldName.isTooLong) { throw tooLong(name, .invalidInput) }
    }

    private static func tooLong(_ name: String, _ code: PublisherError.Code) -> PublisherError {
        PublisherError(
            code,
            "fields: the name that begins with \"\(name.prefix(40))\" has \(name.utf8.count) bytes; give it at most "
                + "\(FieldName.maximumBytes)")
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
