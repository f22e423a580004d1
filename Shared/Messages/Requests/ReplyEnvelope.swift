/// A reply in its form on the wire: a result or an error, never both.
public struct ReplyEnvelope<Result: Codable & Sendable>: Codable, Sendable {
    /// Always "2.0".
    public var jsonrpc = "2.0"
    /// The request's id.
    public var id: RequestIdentifier
    /// The reply of the method.
    public var result: Result?
    /// Why it was refused.
    public var error: RequestError?

    private enum CodingKeys: CodingKey { case jsonrpc, id, result, error }

    /// Creates a successful reply.
    public init(id: RequestIdentifier, result: Result) {
        self.id = id
        self.result = result
    }

    /// Creates a refusal.
    public init(id: RequestIdentifier, error: RequestError) {
        self.id = id
        self.error = error
    }

    /// Decodes what `encode` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        jsonrpc = try container.decode(String.self, forKey: .jsonrpc)
        id = try container.decodeIfPresent(RequestIdentifier.self, forKey: .id) ?? .null
        error = try container.decodeIfPresent(RequestError.self, forKey: .error)
        result = error == nil ? try container.decode(Result.self, forKey: .result) : nil
    }
}
