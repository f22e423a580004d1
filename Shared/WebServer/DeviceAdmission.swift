/// Who may push to a server: devices that show one of its tokens, or the programs of this machine if it has none.
///
/// Devices can't be expected to send a header of ours, or to come under a name that is known. Pages of others in a browser can send requests
/// here too; they can't set another `Origin`, and they do not know a token.
package struct DeviceAdmission: Sendable {
    private let hosts: Set<String>
    private let tokens: WebTokens
    /// What everybody may get: it says nothing.
    private let open: Set<String>

    /// - Parameters:
    ///   - port: where the server listens.
    ///   - tokens: what devices must show, as `Authorization: Bearer TOKEN` or `?token=TOKEN`; without one, the server must listen on
    ///     the loopback interface alone.
    ///   - open: paths that everybody may get.
    package init(port: UInt16, tokens: [String: String], open: Set<String> = []) {
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)"]
        self.tokens = WebTokens(tokens)
        self.open = open
    }

    /// What a request is answered that is not to be carried out.
    package func answer(to request: inout WebRequest) -> WebResponse? {
        let host = request.headers["host"] ?? ""
        // A page whose name was made to lead to this machine (DNS rebinding) still has that name.
        guard !tokens.isEmpty || hosts.contains(host) else {
            return .refusal(403, "notAllowed", "without tokens this is for this machine alone: ask 127.0.0.1")
        }
        // A web server before this one has another scheme.
        if let origin = request.headers["origin"], origin != "https://\(host)", origin != "http://\(host)" {
            return .refusal(403, "notAllowed", "another page may not ask this")
        }
        guard ["GET", "HEAD", "POST"].contains(request.method) else { return .methodRefusal }
        if tokens.isEmpty || request.method != "POST" && open.contains(request.path) { return nil }
        request.user = tokens.user(of: request.bearerToken ?? request.arguments["token"] ?? "")
        if request.user != nil { return nil }
        return .refusal(401, "notAllowed", "add ?token=TOKEN to the address, or the header Authorization: Bearer TOKEN")
    }
}
