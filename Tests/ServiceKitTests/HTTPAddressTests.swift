import Testing

@testable import ServiceKit

struct HTTPAddressTests {
    @Test(arguments: [
        ("9550", "127.0.0.1:9550"), ("0", "127.0.0.1:0"), ("localhost:9550", "localhost:9550"),
        ("[::1]:9550", "[::1]:9550"), ("*:9550", "*:9550"), ("10.0.0.1:80", "10.0.0.1:80"),
    ])
    func anAddressIsReadAsItIsWritten(text: String, description: String) throws {
        let address = try HTTPAddress(typed: text)
        #expect(address.description == description)
        #expect(try HTTPAddress(typed: description) == address)
    }

    @Test(arguments: ["", "x", "99999", "-1", "localhost", ":9550", "tcp://127.0.0.1:9550", "127.0.0.1:*", "h:9 5"])
    func whatIsNoneIsExplained(text: String) {
        let error = #expect(throws: InvalidValue.self) { try HTTPAddress(typed: text) }
        #expect(error?.description.contains("write a port") == true)
    }

    @Test func othersReadThemOnlyWhereThatIsWanted() throws {
        for text in ["9550", "127.1.2.3:1", "[::1]:9550", "localhost:9550"] {
            try HTTPAddress(typed: text).requireLocal(insecure: false)
        }
        for text in ["*:9550", "0.0.0.0:9550", "10.0.0.1:9550", "[::]:9550", "host:9550"] {
            let address = try HTTPAddress(typed: text)
            let error = #expect(throws: ServiceError.self) { try address.requireLocal(insecure: false) }
            #expect(error?.status == .badConfiguration)
            #expect(error?.message.contains("--insecure") == true)
            try address.requireLocal(insecure: true)
        }
    }

    @Test func thePlaceIsOneThatCanBeOpenedHere() throws {
        #expect(try HTTPAddress(typed: "0").place(port: 7) == "127.0.0.1:7")
        #expect(try HTTPAddress(typed: "*:0").place(port: 7) == "127.0.0.1:7")
        #expect(try HTTPAddress(typed: "[::1]:7").place(port: 7) == "[::1]:7")
    }
}
