import Testing
import WebServer

struct WebAdmissionTests {
    private static func request(
        _ method: String = "GET", _ path: String = "/api/state", _ headers: [String: String] = [:]
    ) -> WebRequest {
        var request = WebRequest(method: method, path: path)
        request.headers = ["host": "127.0.0.1:5500"].merging(headers) { $1 }
        return request
    }

    private static func answer(_ admission: WebAdmission, _ request: WebRequest) -> (WebResponse?, user: String?) {
        var request = request
        let answer = admission.answer(to: &request)
        return (answer, request.user)
    }

    private static func status(_ admission: WebAdmission, _ request: WebRequest) -> UInt32? {
        answer(admission, request).0?.status
    }

    private static let tokens = ["listen": "fedcba9876543210", "delete": "0123456789abcdef"]
    private let open = WebAdmission(port: 5500)
    private let closed = WebAdmission(port: 5500, tokens: tokens)
    private let secure = WebAdmission(port: 5500, isSecure: true, tokens: tokens) { $0 == "lab.example" }

    // Through a tunnel, the port differs.
    @Test(arguments: ["127.0.0.1:5500", "localhost:5500", "[::1]:5500", "LOCALHOST:80", "127.0.0.1", "192.0.2.7:1"])
    func aPageOfThisMachineMayAskWithoutLogin(host: String) {
        let origin = ["host": host, "origin": "http://\(host)", "x-holdfast": "1"]
        #expect(Self.status(open, Self.request("GET", "/", origin)) == nil)
        #expect(Self.status(open, Self.request("POST", "/api/call/recording.stop", origin)) == nil)
    }

    @Test(arguments: [
        "evil.example", "evil.example:5500", "127.0.0.1:5500.evil.example", "127.0.0.1.evil.example:5500", "", ":5500",
        "[::1].evil.example", "[evil.example]:5500", "127.0.0.1:x", "lab.example:5500",
    ])
    func aNameThatWasMadeToLeadHereIsRefused(host: String) {
        #expect(Self.status(open, Self.request("GET", "/", ["host": host])) == 403)
    }

    @Test func namesOfTheServerAreKnown() {
        let shown = ["host": "Lab.example:5500", "authorization": "Bearer 0123456789abcdef"]
        #expect(Self.status(secure, Self.request("GET", "/", shown)) == nil)
        let other = shown.merging(["host": "lab.example.evil.example:5500"]) { $1 }
        #expect(Self.status(secure, Self.request("GET", "/", other)) == 403)
    }

    @Test(arguments: [
        "http://evil.example", "null", "https://127.0.0.1:5500", "http://127.0.0.1:5501", "http://localhost:5500", "",
    ])
    func anotherOriginIsRefused(origin: String) {
        let headers = ["origin": origin, "x-holdfast": "1"]
        #expect(Self.status(open, Self.request("POST", "/api/call/recording.stop", headers)) == 403)
    }

    @Test func overTLSTheOriginIsSecureToo() {
        for (origin, status) in [("https://127.0.0.1:5500", nil), ("http://127.0.0.1:5500", 403)] as [(String, UInt32?)]
        {
            let headers = [
                "origin": origin, "x-holdfast": "1", "cookie": "__Host-holdfast-5500=0123456789abcdef",
            ]
            #expect(Self.status(secure, Self.request("POST", "/api/call/recording.stop", headers)) == status)
        }
    }

    @Test func aPostWithoutTheHeaderIsRefused() {
        #expect(Self.status(open, Self.request("POST", "/api/call/recording.stop")) == 403)
        #expect(Self.status(open, Self.request("DELETE")) == 405)
    }

    @Test func aLinkGivesACookieThatOpensTheRest() throws {
        for (admission, name, end) in [(closed, "holdfast-5500", ""), (secure, "__Host-holdfast-5500", "; Secure")] {
            for (user, token) in Self.tokens {
                var link = Self.request("GET", "/")
                link.arguments["token"] = token
                let login = try #require(Self.answer(admission, link).0)
                #expect(login.status == 303)
                let cookie = try #require(login.headers.first { $0.name == "Set-Cookie" }?.value)
                #expect(cookie == "\(name)=\(token); HttpOnly; SameSite=Strict; Path=/\(end)")
                for headers in [["cookie": "other=1; \(name)=\(token)"], ["authorization": "Bearer \(token)"]] {
                    let (answer, shown) = Self.answer(admission, Self.request("GET", "/api/state", headers))
                    #expect(answer == nil && shown == user)
                }
            }
        }
    }

    @Test(arguments: ["/", "/assets/main.js", "/api/state", "/api/call/recording.list"])
    func withoutTheTokenEachPathIsRefused(path: String) {
        var wrong = Self.request("GET", path)
        wrong.arguments["token"] = "0123456789abcdee"
        #expect(Self.status(closed, wrong) == 401)
        for headers in [
            ["cookie": "holdfast-5500="], ["cookie": "holdfast-5500=0123456789abcde"],
            ["cookie": "holdfast-5501=0123456789abcdef"], ["cookie": "xholdfast-5500=0123456789abcdef"],
            ["authorization": "Bearer "], ["authorization": "Basic 0123456789abcdef"],
            ["authorization": "0123456789abcdef"],
        ] {
            let headers = headers.merging(["x-holdfast": "1"]) { $1 }
            #expect(Self.status(closed, Self.request("GET", path, headers)) == 401)
            #expect(Self.status(closed, Self.request("POST", path, headers)) == 401)
        }
    }
}
