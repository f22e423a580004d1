/// A request in its form on the wire: `{"jsonrpc":"2.0","id":1,"method":"recording.start","params":{…}}`.
public struct RequestEnvelope<Params: Request>: Codable, Sendable {
    /// Always "2.0".
    public var jsonrpc = "2.0"
    /// Returned with the reply.
    public var id: RequestIdentifier
    /// The method's name.
    public var method = Params.method
    /// The method's parameters.
    public var params: Params

    /// Creates a request with the id that its reply will carry.
    public init(id: RequestIdentifier, params: Params) {
        self.id = id
        self.params = params
    }

    /// Decodes what `encode` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        jsonrpc = try container.decode(String.self, forKey: .jsonrpc)
        id = try container.decodeIfPresent(RequestIdentifier.self, forKey: .id) ?? .null
        method = try container.decode(String.self, forKey: .method)
        // A method without required params may be called without `params`.
        params =
            container.contains(.params)
            ? try container.decode(Params.self, forKey: .params) : try WireCoding.decode(Params.self, from: "{}".utf8)
    }
}
