import Testing

@testable import ServiceKit

struct MetricsAddressTests {
    @Test(arguments: [
        ("9550", "127.0.0.1:9550"), ("0", "127.0.0.1:0"), ("localhost:9550", "localhost:9550"),
        ("[::1]:9550", "[::1]:9550"), ("*:9550", "*:9550"), ("10.0.0.1:80", "10.0.0.1:80"),
    ])
    func anAddressIsReadAsItIsWritten(text: String, description: String) throws {
        let address = try MetricsAddress(typed: text)
        #expect(address.description == description)
        #expect(try MetricsAddress(typed: description) == address)
    }

    @Test(arguments: ["", "x", "99999", "-1", "localhost", ":9550", "tcp://127.0.0.1:9550", "127.0.0.1:*", "h:9 5"])
    func whatIsNoneIsExplained(text: String) {
        let error = #expect(throws: InvalidValue.self) { try MetricsAddress(typed: text) }
        #expect(error?.description.contains("write a port") == true)
    }

    @Test func othersReadThemOnlyWhereThatIsWanted() throws {
        for text in ["9550", "127.1.2.3:1", "[::1]:9550", "localhost:9550"] {
            try MetricsAddress(typed: text).requireLocal(insecure: false)
        }
        for text in ["*:9550", "0.0.0.0:9550", "10.0.0.1:9550", "[::]:9550", "host:9550"] {
            let address = try MetricsAddress(typed: text)
            let error = #expect(throws: ServiceError.self) { try address.requireLocal(insecure: false) }
            #expect(error?.status == .badConfiguration)
            #expect(error?.message.contains("--insecure") == true)
            try address.requireLocal(insecure: true)
        }
    }

    @Test func theURLIsOneThatCanBeOpenedHere() throws {
        #expect(try MetricsAddress(typed: "0").url(port: 7) == "http://127.0.0.1:7/metrics")
        #expect(try MetricsAddress(typed: "*:0").url(port: 7) == "http://127.0.0.1:7/metrics")
        #expect(try MetricsAddress(typed: "[::1]:7").url(port: 7) == "http://[::1]:7/metrics")
    }
}
