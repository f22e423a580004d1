/// The params of one method that a program answers over its REP socket, JSON-RPC 2.0.
///
/// A request knows the type of its reply, so clients never cast.
public protocol Request: Codable, Sendable {
    /// The type of the reply.
    associatedtype Reply: Codable & Sendable
    /// The name on the wire.
    static var method: String { get }
    /// Whether a repeated request has no further effect, so that a client may repeat it after a lost reply.
    static var isRepeatable: Bool { get }
    /// The least role that may send this request with these params.
    var neededRole: Role { get }
}

extension Request {
    /// Most requests only read, or set a state. The others override this.
    public static var isRepeatable: Bool { true }
}

/// A request or reply without fields: `{}`.
public struct Empty: Codable, Hashable, Sendable {
    /// Creates the value.
    public init() {}
}
