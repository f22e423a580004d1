/// The container of the records in a JSON log.
///
/// The bytes are those of the ancestors' logs (`[`, or `startDate` and `items`), with each record on a line of its own.
package enum JSONRoot: String, Codable, Sendable, CaseIterable {
    case array
    case dictionary

    /// The bytes in front of the first record.
    ///
    /// - Parameter startDate: when the file was opened, ISO 8601 with zone; only the dictionary has it.
    func opening(startDate: String) -> String {
        switch self {
        case .array: "[\n"
        case .dictionary: "{\n\"startDate\" : \"\(startDate)\",\n\"items\"     : ["
        }
    }

    var terminator: String {
        switch self {
        case .array: "\n]"
        case .dictionary: "\n]\n}"
        }
    }
}
