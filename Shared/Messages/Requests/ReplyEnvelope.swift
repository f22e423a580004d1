/// A reply as it goes over the wire: a result or an error, never both.
public struct ReplyEnvelope<Result: Codable & Sendable>: Codable, Sendable {
    /// Always "2.0".
    public var jsonrpc = "2.0"
    /// The request's.
    public var id: RequestIdentifier
    /// What was asked for.
    public var result: Result?
    /// Why it was refused.
    public var error: RequestError?

    private enum CodingKeys: CodingKey { case jsonrpc, id, result, error }

    /// The answer to a request.
    public init(id: RequestIdentifier, result: Result) {
        self.id = id
        self.result = result
    }

    /// The refusal of a request.
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
