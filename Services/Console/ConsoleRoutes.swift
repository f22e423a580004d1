import Messages
import WebServer

/// What each path answers.
struct ConsoleRoutes: Sendable {
    private let pages: ConsolePages
    private let programs: ConsolePrograms
    private let methods: BusMethods
    private let role: Role

    init(pages: ConsolePages, programs: ConsolePrograms, role: Role) {
        self.pages = pages
        self.programs = programs
        self.role = role
        methods = BusMethods(programs)
    }

    /// Answers an admitted request.
    func answer(_ request: WebRequest) async -> WebResponse {
        let call = "/api/call/"
        if request.path.hasPrefix(call) {
            guard request.method == "POST" else { return Self.wrongMethod }
            return await answer(call: String(request.path.dropFirst(call.count)), request.body)
        }
        guard request.method != "POST" else { return Self.wrongMethod }
        if request.path == "/api/state" { return Self.json(await ConsoleState.now(of: programs, role: role)) }
        return pages[request.path] ?? .refusal(404, "notFound", "there is nothing at this address")
    }

    private func answer(call method: String, _ params: [UInt8]) async -> WebResponse {
        do {
            return Self.json(try await methods.ask(method, params, as: role))
        } catch {
            let error = error as? RequestError ?? .internalError("\(error)")
            var response = Self.json(["error": error])
            response.status = Self.status(of: error)
            return response
        }
    }

    private static let wrongMethod = WebResponse.refusal(
        405, "notAllowed", "what changes something is asked with POST, all else with GET")

    private static func json(_ value: some Encodable) -> WebResponse {
        guard let body = try? WireCoding.encode(value) else {
            return .refusal(500, "internalError", "the answer can't be written as JSON")
        }
        return WebResponse(body: body)
    }

    /// The HTTP status that says the most like it.
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
