import ConsoleCore
import FoundationEssentials
import Hashing
import Messages
import WebServer

struct ConsoleRoutes: Sendable {
    private let engine: ConsoleEngine
    private let pages: ConsolePages
    private let sessions: SessionRoutes
    private let history: ConsoleHistory
    private let methods: BusMethods
    private let access: ConsoleAccess

    init(
        engine: ConsoleEngine, pages: ConsolePages, programs: ConsolePrograms, sessions: SessionRoutes,
        history: ConsoleHistory, access: ConsoleAccess
    ) {
        self.engine = engine
        self.pages = pages
        self.sessions = sessions
        self.history = history
        self.access = access
        methods = BusMethods(programs)
    }

    /// Answers an admitted request.
    func answer(_ request: WebRequest) async -> WebResponse {
        let call = "/api/call/"
        if request.path.hasPrefix(call) {
            guard request.method == "POST" else { return .wrongMethod }
            return await answer(
                call: String(request.path.dropFirst(call.count)), request.body, as: access.role(of: request))
        }
        let isOfSessions = request.path == SessionRoutes.path || request.path.hasPrefix("\(SessionRoutes.path)/")
        if isOfSessions, let answer = await sessions.answer(request) { return answer }
        guard request.method != "POST" else { return .wrongMethod }
        switch request.path {
        case "/api/state":
            guard let state = try? await engine.state(for: access.role(of: request)) else { return .unwritable }
            return WebResponse(body: state)
        case "/api/system":
            guard let system = try? await engine.system() else { return .unwritable }
            return WebResponse(body: system)
        case "/api/events": return await events(request)
        case "/foxglove": return await foxglove(request)
        case "/api/history": return await history.answer(request)
        default: return pages[request.path] ?? .refusal(404, "notFound", "there is nothing at this address")
        }
    }

    private func events(_ request: WebRequest) async -> WebResponse {
        // A HEAD request gets no events.
        guard request.method == "GET" else { return .wrongMethod }
        var wanted: Set<StreamName>?
        if let text = request.arguments["streams"] {
            let texts = text.split(separator: ",")
            let names = texts.compactMap { StreamName(String($0)) }
            guard names.count == texts.count, names.count <= LiveView.maximumNames else {
                return .refusal(400, "invalidParams", "streams is a list of DEVICE/STREAM with commas between them")
            }
            wanted = Set(names)
        }
        guard let feed = await engine.join(wanted, as: access.role(of: request), at: request.peer) else {
            return .refusal(503, "tooMany", "\(LiveView.maximumViewers) pages see the events already: close some")
        }
        return WebResponse(type: "text/event-stream", body: .feed(feed))
    }

    private func foxglove(_ request: WebRequest) async -> WebResponse {
        guard let upgrade = WebSocketUpgrade(request) else {
            return .refusal(400, "notWebSocket", "this address is for viewers that speak Foxglove's protocol")
        }
        guard !access.isSecure else {
            return .refusal(
                501, "notOverTLS", "WebSockets are served on loopback without TLS: reach one through ssh -L")
        }
        guard let subprotocol = upgrade.protocols.first(where: FoxgloveText.protocols.contains) else {
            return .refusal(400, "unknownProtocol", "speak \(FoxgloveText.protocols.joined(separator: " or "))")
        }
        guard let session = await engine.joinFoxglove(as: access.role(of: request), at: request.peer, asking: methods)
        else {
            return .refusal(503, "tooMany", "\(LiveView.maximumClients) viewers are connected already: close some")
        }
        var response = WebResponse(status: 101, type: "", body: [])
        response.body = .socket(session)
        response.headers = [
            ("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", subprotocol),
            ("Sec-WebSocket-Accept", Data(SHA1.hash(data: upgrade.keyText.utf8)).base64EncodedString()),
        ]
        return response
    }

    private func answer(call method: String, _ params: [UInt8], as role: Role) async -> WebResponse {
        do {
            return .json(try await methods.ask(method, params, as: role))
        } catch {
            let error = error as? RequestError ?? .internalError("\(error)")
            return .json(["error": error], status: Self.status(of: error))
        }
    }

    /// The HTTP status that best matches an error.
    static func status(of error: RequestError) -> UInt32 {
        switch error.code {
        case -32_601, RequestError.Reason.unknownSession.code, RequestError.Reason.unknownStream.code,
            RequestError.Reason.unknownLog.code:
            404
        case -32_603: 500
        case ..<0, RequestError.Reason.invalidParameter.code: 400
        case RequestError.Reason.notAllowed.code: 403
        case RequestError.Reason.timedOut.code: 502
        default: 409
        }
    }
}
