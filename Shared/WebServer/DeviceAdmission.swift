/// Admits devices that present a token, or only programs of this machine if there are no tokens.
///
/// Devices can't be expected to send a special header, or to use a known host name. Foreign pages in a browser can send requests
/// here too, but they can't set another `Origin`, and do not know a token.
package struct DeviceAdmission: Sendable {
    private let hosts: Set<String>
    private let tokens: WebTokens
    /// Paths that anybody may get, because they reveal nothing.
    private let open: Set<String>

    /// - Parameters:
    ///   - port: the server's port.
    ///   - tokens: by user, the tokens that devices present as `Authorization: Bearer TOKEN` or `?token=TOKEN`; if empty, the
    ///     server must listen only on the loopback interface.
    ///   - open: paths that anybody may get.
    package init(port: UInt16, tokens: [String: String], open: Set<String> = []) {
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)"]
        self.tokens = WebTokens(tokens)
        self.open = open
    }

    /// The response to a request that is refused; nil admits the request.
    package func answer(to request: inout WebRequest) -> WebResponse? {
        let host = request.headers["host"] ?? ""
        // A page whose name was made to resolve to this machine (DNS rebinding) still sends that name.
        guard !tokens.isEmpty || hosts.contains(host) else {
            return .refusal(403, "notAllowed", "without tokens, only this machine is served: use 127.0.0.1")
        }
        // Behind a reverse proxy, the scheme may differ.
        if let origin = request.headers["origin"], origin != "https://\(host)", origin != "http://\(host)" {
            return .refusal(403, "notAllowed", "requests from other pages are not allowed")
        }
        guard ["GET", "HEAD", "POST"].contains(request.method) else { return .methodRefusal }
        if tokens.isEmpty || request.method != "POST" && open.contains(request.path) { return nil }
        request.user = tokens.user(of: request.bearerToken ?? request.arguments["token"] ?? "")
        if request.user != nil { return nil }
        return .refusal(401, "notAllowed", "add ?token=TOKEN to the address, or the header Authorization: Bearer TOKEN")
    }
}
