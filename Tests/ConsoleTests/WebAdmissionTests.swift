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

    private let open = WebAdmission(port: 5500, token: nil)
    private let closed = WebAdmission(port: 5500, token: "0123456789abcdef")

    @Test(arguments: ["127.0.0.1:5500", "localhost:5500", "[::1]:5500"])
    func aPageOfThisMachineMayAskWithoutLogin(host: String) {
        let origin = ["host": host, "origin": "http://\(host)", "x-holdfast": "1"]
        #expect(open.answer(to: Self.request("GET", "/", origin)) == nil)
        #expect(open.answer(to: Self.request("POST", "/api/call/recording.stop", origin)) == nil)
    }

    @Test(arguments: [
        "evil.example", "evil.example:5500", "127.0.0.1:80", "127.0.0.1", "127.0.0.1:5500.evil.example", "",
    ])
    func aNameThatWasMadeToLeadHereIsRefused(host: String) {
        #expect(open.answer(to: Self.request("GET", "/", ["host": host]))?.status == 403)
    }

    @Test(arguments: ["http://evil.example", "null", "https://127.0.0.1:5500", "http://127.0.0.1:5501", ""])
    func anotherOriginIsRefused(origin: String) {
        let headers = ["origin": origin, "x-holdfast": "1"]
        #expect(open.answer(to: Self.request("POST", "/api/call/recording.stop", headers))?.status == 403)
    }

    @Test func aPostWithoutTheHeaderIsRefused() {
        #expect(open.answer(to: Self.request("POST", "/api/call/recording.stop"))?.status == 403)
        #expect(open.answer(to: Self.request("DELETE"))?.status == 405)
    }

    @Test func whoHasTheLinkGetsACookieThatOpensTheRest() throws {
        var link = Self.request("GET", "/")
        link.token = "0123456789abcdef"
        let login = try #require(closed.answer(to: link))
        #expect(login.status == 303)
        let cookie = try #require(login.headers.first { $0.name == "Set-Cookie" }?.value)
        #expect(cookie == "holdfast=0123456789abcdef; HttpOnly; SameSite=Strict; Path=/")
        let shown = ["cookie": "other=1; holdfast=0123456789abcdef"]
        #expect(closed.answer(to: Self.request("GET", "/api/state", shown)) == nil)
    }

    @Test(arguments: ["/", "/assets/main.js", "/api/state", "/api/call/recording.list"])
    func withoutTheTokenEachPathIsRefused(path: String) {
        var wrong = Self.request("GET", path)
        wrong.token = "0123456789abcdee"
        #expect(closed.answer(to: wrong)?.status == 401)
        for cookie in ["holdfast=", "holdfast=0123456789abcde", "xholdfast=0123456789abcdef"] {
            let headers = ["cookie": cookie, "x-holdfast": "1"]
            #expect(closed.answer(to: Self.request("GET", path, headers))?.status == 401)
            #expect(closed.answer(to: Self.request("POST", path, headers))?.status == 401)
        }
    }
}
