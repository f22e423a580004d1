/// Who may ask a server on the loopback interface: pages that it served itself, and programs of this machine.
///
/// Another page in the same browser can send requests here. It can't set `X-Holdfast` or another `Origin`; and where its name was
/// made to lead to this machine (DNS rebinding), `Host` is still that name.
package struct WebAdmission: Sendable {
    private static let cookie = "holdfast"

    private let hosts: Set<String>
    private let token: String?

    /// - Parameters:
    ///   - port: where the server listens.
    ///   - token: what a browser must show; nil for nothing.
    package init(port: UInt16, token: String?) {
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)"]
        self.token = token
    }

    /// What a request is answered that is not to be carried out: a refusal, or the cookie for a link with the token.
    package func answer(to request: WebRequest) -> WebResponse? {
        guard let host = request.headers["host"], hosts.contains(host) else {
            return .refusal(403, "notAllowed", "open the console by the address that it printed")
        }
        if let origin = request.headers["origin"], !hosts.contains(where: { origin == "http://\($0)" }) {
            return .refusal(403, "notAllowed", "another page may not ask this")
        }
        switch request.method {
        case "GET", "HEAD": break
        case "POST":
            guard request.headers["x-holdfast"] == "1" else {
                return .refusal(403, "notAllowed", "a POST needs the header X-Holdfast: 1")
            }
        default:
            var refusal = WebResponse.refusal(405, "notAllowed", "ask with GET, HEAD or POST")
            refusal.headers = [("Allow", "GET, HEAD, POST")]
            return refusal
        }
        guard let token else { return nil }
        if request.path == "/", let shown = request.token, Self.isSame(shown, token) {
            var login = WebResponse(status: 303, type: "text/plain; charset=utf-8", body: [])
            login.headers = [
                ("Set-Cookie", "\(Self.cookie)=\(token); HttpOnly; SameSite=Strict; Path=/"), ("Location", "/"),
            ]
            return login
        }
        let isKnown = (request.headers["cookie"] ?? "").split(separator: ";").contains { part in
            let part = String(part.drop { $0 == " " })
            return part.hasPrefix("\(Self.cookie)=")
                && Self.isSame(String(part.dropFirst(Self.cookie.count + 1)), token)
        }
        return isKnown ? nil : .refusal(401, "notAllowed", "open the link that the console printed when it started")
    }

    /// Takes as long wherever two texts differ, so that its time does not tell where.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
