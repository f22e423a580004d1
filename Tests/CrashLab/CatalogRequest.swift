import Messages

/// The requests that the laboratory sends to a log-manager.
enum CatalogRequest: Hashable, Sendable {
    case mark([String], receipt: Int)
    case unmark([String])
    case removeUploaded([String])
    /// Removes files until at most this many bytes are left.
    case removeTo(bytes: Int)
    case add(log: String)
    case remove(log: String)

    enum Answer: Hashable, Sendable {
        case outcome(done: [String], refused: [String])
        case removed([String])
        case done
        case refused(String)
    }

    /// A receipt as the receiver of an upload might write it.
    static func receipt(_ number: Int) -> JSONValue { .object(["id": .integer(number)]) }
}
