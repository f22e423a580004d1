/// Something that a program can be asked over its REP socket, JSON-RPC 2.0: the params of one method.
///
/// A request knows the type of its reply, so an asker never casts.
public protocol Request: Codable, Sendable {
    /// What the method answers.
    associatedtype Reply: Codable & Sendable
    /// The method's name on the wire.
    static var method: String { get }
    /// Whether asking twice does no more than asking once, so that an asker may ask again where an answer is missing.
    static var isRepeatable: Bool { get }
    /// The least role that may ask this, with these params.
    var neededRole: Role { get }
}

extension Request {
    /// Most requests read, or bring about a state. The few that do not say so themselves.
    public static var isRepeatable: Bool { true }
}

/// A request or reply that says nothing more than that it was made: `{}`.
public struct Empty: Codable, Hashable, Sendable {
    /// Nothing.
    public init() {}
}
