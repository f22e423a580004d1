/// The part of a request that is decoded first: its id and its method.
public struct RequestHeader: Decodable, Sendable {
    /// Must be "2.0".
    public var jsonrpc: String
    /// Returned with the reply.
    public var id: RequestIdentifier
    /// The method's name.
    public var method: String

    private enum CodingKeys: CodingKey { case jsonrpc, id, method }

    /// Decodes what `encode` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        jsonrpc = try container.decode(String.self, forKey: .jsonrpc)
        id = try container.decodeIfPresent(RequestIdentifier.self, forKey: .id) ?? .null
        method = try container.decode(String.self, forKey: .method)
    }
}
