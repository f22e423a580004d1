public import Messages

/// Maps methods to handlers, and applies the rules of JSON-RPC. It has no sockets: bytes in, bytes out.
///
/// Every request gets a reply: a result, or an error that explains what to do.
public struct RequestRouter: Sendable {
    /// The maximum size of a request in bytes; longer ones are refused unread. The longest useful one names some hundred
    /// streams.
    public static let maximumRequestSize = 1 << 20

    private typealias Handler =
        @Sendable (
            _ id: RequestIdentifier, _ request: [UInt8], _ more: [[UInt8]], _ role: Role?,
            _ refused: (RequestError) -> Void
        ) async throws -> [[UInt8]]

    private var handlers: [String: Handler] = [:]
    /// Counts requests that could not be read.
    public let malformed = RequestCounter()

    /// Creates a router without handlers.
    public init() {}

    /// The standard's codes for text that is not JSON, JSON that is not a request, and wrong parameters.
    private static let malformedCodes = [-32_700, -32_600, -32_602]

    /// The methods with handlers, sorted.
    public var methods: [String] { handlers.keys.sorted() }

    /// Sets the handler of a method.
    public mutating func on<Params: Request>(
        _ type: Params.Type, _ handler: @escaping @Sendable (Params) async throws -> Params.Reply
    ) {
        onWithFrames(type) { (try await handler($0), []) }
    }

    /// Sets the handler of a method whose reply has further frames.
    public mutating func onWithFrames<Params: Request>(
        _ type: Params.Type, _ handler: @escaping @Sendable (Params) async throws -> (Params.Reply, [[UInt8]])
    ) {
        onRequest(type) { params, more in
            guard more.isEmpty else {
                throw RequestError.invalidRequest("a request is one frame of JSON; this one has \(more.count + 1)")
            }
            return try await handler(params)
        }
    }

    /// Sets the handler of a method whose request has a second frame, with bytes.
    public mutating func onWithBytes<Params: Request>(
        _ type: Params.Type, _ handler: @escaping @Sendable (Params, [UInt8]) async throws -> Params.Reply
    ) {
        onRequest(type) { params, more in
            guard let bytes = more.first, more.count == 1 else {
                throw RequestError.invalidRequest(
                    "\(Params.method) is two frames: JSON, then the bytes; this one has \(more.count + 1)")
            }
            return (try await handler(params, bytes), [])
        }
    }

    private mutating func onRequest<Params: Request>(
        _ type: Params.Type,
        _ handler: @escaping @Sendable (Params, _ more: [[UInt8]]) async throws -> (Params.Reply, [[UInt8]])
    ) {
        handlers[Params.method] = { id, request, more, role, refused in
            let params: Params
            do {
                params = try WireCoding.decode(RequestEnvelope<Params>.self, from: request).params
            } catch let error as DecodingError {
                throw RequestError.invalidParams("\(Params.method): \(error.sentence)")
            }
            guard let role, role >= params.neededRole else {
                let error = Self.notAllowed(params, as: role)
                refused(error)
                throw error
            }
            let (reply, frames) = try await handler(params, more)
            return [try WireCoding.encode(ReplyEnvelope(id: id, result: reply))] + frames
        }
    }

    /// The reply to a request's frames.
    /// - Parameters:
    ///   - role: the client's role; nil if it may do nothing.
    ///   - refused: called if the role does not allow the request.
    public func answer(
        _ frames: [[UInt8]], as role: Role? = .delete, refused: (RequestError) -> Void = { _ in }
    ) async -> [[UInt8]] {
        var id = RequestIdentifier.null
        do {
            let request = try Self.first(frames)
            let header = try Self.header(of: request)
            id = header.id
            guard header.jsonrpc == "2.0" else {
                throw RequestError.invalidRequest("jsonrpc is '\(header.jsonrpc)'; it must be \"2.0\"")
            }
            guard let handler = handlers[header.method] else {
                throw RequestError.unknownMethod(
                    "there is no method '\(header.method.prefix(100))'; the methods are \(methods.joined(separator: ", "))"
                )
            }
            return try await handler(id, request, Array(frames.dropFirst()), role, refused)
        } catch {
            if let code = (error as? RequestError)?.code, Self.malformedCodes.contains(code) {
                malformed.countOne()
            }
            return [Self.refusal(id: id, error)]
        }
    }

    /// The reply to a request that exceeded its time limit.
    func timedOut(_ frames: [[UInt8]], after limit: Duration) -> [[UInt8]] {
        let header = try? Self.header(of: Self.first(frames))
        return [Self.refusal(id: header?.id ?? .null, RequestError(.timedOut, "there was no answer within \(limit)"))]
    }

    private static func notAllowed<Params: Request>(_ request: Params, as role: Role?) -> RequestError {
        let needed = request.neededRole.rawValue
        let has = role.map { "this key has \($0.rawValue)" } ?? "this key is no longer allowed"
        return RequestError(.notAllowed, "\(Params.method) needs the role \(needed) here, and \(has)")
    }

    private static func first(_ frames: [[UInt8]]) throws(RequestError) -> [UInt8] {
        guard let request = frames.first else {
            throw .invalidRequest("a request is a frame of JSON; this one has none")
        }
        guard request.count <= maximumRequestSize else {
            throw .invalidRequest("the request has \(request.count) bytes; at most \(maximumRequestSize) are read")
        }
        return request
    }

    private static func header(of request: [UInt8]) throws(RequestError) -> RequestHeader {
        guard request.withUnsafeBytes({ JSONScanner.isValid($0) }) else { throw .notJSON("the request is not JSON") }
        do {
            return try WireCoding.decode(RequestHeader.self, from: request)
        } catch let error as DecodingError {
            throw .invalidRequest("the request is not JSON-RPC 2.0: \(error.sentence)")
        } catch {
            throw .invalidRequest("the request is not JSON-RPC 2.0: \(error)")
        }
    }

    private static func refusal(id: RequestIdentifier, _ error: any Error) -> [UInt8] {
        let refusal = (error as? any RequestFailure)?.refusal ?? .internalError("\(error)")
        let reply = ReplyEnvelope<Empty>(id: id, error: refusal)
        // Encoding plain texts and numbers does not fail; if it did, this constant would still be a reply.
        return (try? WireCoding.encode(reply))
            ?? Array(
                #"{"error":{"code":-32603,"message":"the error can't be encoded"},"id":null,"jsonrpc":"2.0"}"#.utf8)
    }
}
