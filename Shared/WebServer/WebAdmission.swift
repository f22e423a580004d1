import Glibc

/// Admits requests from pages that the server itself served and, if it has tokens, from clients that present one.
///
/// Another page in the same browser can send requests here. It can't set `X-Holdfast` or another `Origin`; and if its name was
/// made to resolve to this machine (DNS rebinding), `Host` is still that name, which is not the server's.
package struct WebAdmission: Sendable {
    private let cookie: String
    private let attributes: String
    private let scheme: String
    private let tokens: WebTokens
    private let origins: Set<String>
    private let isOwnName: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - port: the server's port, because servers on one machine share their cookies.
    ///   - isSecure: whether the server uses TLS.
    ///   - tokens: by user, the tokens that browsers must present; if empty, none is required.
    ///   - origins: other pages that may open WebSockets.
    ///   - isOwnName: whether a host's name, in lower case, is one of the server's, besides addresses and `localhost`.
    package init(
        port: UInt16, isSecure: Bool = false, tokens: [String: String] = [:], origins: Set<String> = [],
        isOwnName: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        scheme = isSecure ? "https" : "http"
        cookie = isSecure ? "__Host-holdfast-\(port)" : "holdfast-\(port)"
        attributes = "HttpOnly; SameSite=Strict; Path=/\(isSecure ? "; Secure" : "")"
        self.tokens = WebTokens(tokens)
        self.origins = origins
        self.isOwnName = isOwnName
    }

    /// The response to a request that is not passed on: a refusal, or the cookie for a link with a token. Nil admits the request.
    package func answer(to request: inout WebRequest) -> WebResponse? {
        guard let host = request.headers["host"], isOwn(host) else {
            return .refusal(
                403, "notAllowed",
                "this is not one of the console's names: open the link that it printed, or use this machine's address")
        }
        let isSocket = request.headers["upgrade"] != nil
        if let origin = request.headers["origin"], origin != "\(scheme)://\(host)",
            !(isSocket && origins.contains(origin))
        {
            return .refusal(403, "notAllowed", "requests from other pages are not allowed")
        }
        switch request.method {
        case "GET", "HEAD": break
        case "POST":
            guard request.headers["x-holdfast"] == "1" else {
                return .refusal(403, "notAllowed", "a POST needs the header X-Holdfast: 1")
            }
        default: return .methodRefusal
        }
        guard !tokens.isEmpty else { return nil }
        if request.path == "/", let shown = request.arguments["token"], tokens.user(of: shown) != nil {
            var login = WebResponse(status: 303, type: "text/plain; charset=utf-8", body: [])
            login.headers = [("Set-Cookie", "\(cookie)=\(shown); \(attributes)"), ("Location", "/")]
            return login
        }
        for shown in shownTokens(of: request) where request.user == nil { request.user = tokens.user(of: shown) }
        if request.user != nil { return nil }
        return .refusal(401, "notAllowed", "open the link that the console printed when it started")
    }

    private func shownTokens(of request: WebRequest) -> [String] {
        if let token = request.bearerToken { return [token] }
        // Viewers that are not browsers can present a token only in the address.
        if request.headers["upgrade"] != nil, let token = request.arguments["token"] { return [token] }
        return (request.headers["cookie"] ?? "").split(separator: ";").compactMap { part in
            let part = part.drop { $0 == " " }
            return part.hasPrefix("\(cookie)=") ? String(part.dropFirst(cookie.count + 1)) : nil
        }
    }

    /// Whether a request for this host means the server. An address is safe, because it can't be a name that somebody else
    /// controls.
    private func isOwn(_ host: String) -> Bool {
        var name = host.lowercased()
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") {
            guard UInt16(name[name.index(after: colon)...]) != nil else { return false }
            name = String(name[..<colon])
        }
        if name.hasPrefix("["), name.hasSuffix("]") {
            var address = in6_addr()
            return inet_pton(AF_INET6, String(name.dropFirst().dropLast()), &address) == 1
        }
        var address = in_addr()
        return name == "localhost" || inet_pton(AF_INET, name, &address) == 1 || isOwnName(name)
    }
}
