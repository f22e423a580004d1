import ServiceKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EndpointTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:5550", "127.0.0.1", 5550), ("tcp://*:0", "*", 0),
        ("tcp://sensor-publisher:65535", "sensor-publisher", 65535),
        ("tcp://[::1]:5550", "[::1]", 5550), ("tcp://eth0:1", "eth0", 1),
    ])
    func hostAndPortOfTCPAreKnown(text: String, host: String, port: UInt16) throws {
        let endpoint = try Endpoint(typed: text)
        #expect(endpoint.transport == .tcp)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.description == text)
    }

    @Test func aFreePortIsNoPortYet() throws {
        #expect(try Endpoint(typed: "tcp://127.0.0.1:*").port == nil)
    }

    @Test(arguments: ["ipc:///run/holdfast/recorder", "ipc://@holdfast", "inproc://recorder"])
    func otherTransportsAreTakenAsTheyAre(text: String) throws {
        #expect(try Endpoint(typed: text).description == text)
    }

    @Test(arguments: [
        "", "5550", "127.0.0.1:5550", "udp://127.0.0.1:5550", "TCP://127.0.0.1:5550", "tcp://", "tcp://:5550",
        "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:-1", "tcp://127.0.0.1:http",
        "tcp://a b:1", "tcp://a/b:1", "tcp://[]:1", "tcp://::1:5550", "ipc://", "inproc://", "tcp://127.0.0.1:5550 ",
        "ipc:///" + String(repeating: "x", count: 107),
    ])
    func whatIsNoEndpointIsRefusedByName(text: String) throws {
        let error = #expect(throws: InvalidValue.self) { try Endpoint(typed: text) }
        #expect(try #require(error).description.hasPrefix("'\(text)' "))
    }

    @Test(arguments: [
        "tcp://127.0.0.1:1", "tcp://127.255.0.9:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp://lo:*", "ipc:///x",
        "inproc://x",
    ])
    func whatOnlyThisMachineReachesIsAllowed(text: String) throws {
        #expect(try Endpoint(typed: text).isLocal)
        try Endpoint(typed: text).requireLocal(listeningFor: "publish")
        try Endpoint(typed: text).requireLocal(connectingTo: .recorder)
    }

    @Test(arguments: [
        "tcp://*:5550", "tcp://0.0.0.0:5550", "tcp://192.168.1.7:5550", "tcp://eth0:5550", "tcp://[::]:5550",
        "tcp://127.0.0.1.example.org:5550", "tcp://127.1:5550", "tcp://127.0.0.256:5550",
        "tcp://localhost.example.org:5550",
    ])
    func whatOthersReachNeedsKeysOrInsecure(text: String) throws {
        let endpoint = try Endpoint(typed: text)
        #expect(!endpoint.isLocal)
        let error = #expect(throws: ServiceError.self) { try endpoint.requireLocal(listeningFor: "publish") }
        #expect(
            error
                == ServiceError(
                    .badConfiguration,
                    "publish \(text) can be reached from other machines, and nothing protects it: pass --keys DIR "
                        + "(see holdfast-keys), listen on tcp://127.0.0.1:5550, or pass --insecure if the network is "
                        + "private"))
        let other = #expect(throws: ServiceError.self) { try endpoint.requireLocal(connectingTo: .recorder) }
        #expect(other?.status == .badConfiguration)
        #expect(other?.message.contains("--keys") == true)
    }

    @Test(arguments: [
        ("tcp://*:5561", "tcp://127.0.0.1:5561"), ("tcp://0.0.0.0:5561", "tcp://127.0.0.1:5561"),
        ("tcp://[::]:5561", "tcp://[::1]:5561"), ("tcp://127.0.0.1:5561", "tcp://127.0.0.1:5561"),
        ("ipc:///x", "ipc:///x"),
        ("tcp://127.0.0.1:*", nil), ("tcp://127.0.0.1:0", nil), ("ipc://*", nil),
    ])
    func whereToReachAListenerIsKnown(listener: String, reachable: String?) throws {
        #expect(try Endpoint(typed: listener).reachableLocally?.description == reachable)
    }

    @Test func eachProgramHasPortsOfItsOwn() {
        let endpoints = Program.allCases.flatMap { [$0.defaultPublish, $0.defaultReply] }
        #expect(Set(endpoints).count == 2 * Program.allCases.count)
        #expect(Program.recorder.defaultPublish.description == "tcp://127.0.0.1:5560")
        #expect(Program.archiver.defaultReply.description == "tcp://127.0.0.1:5591")
        #expect(endpoints.allSatisfy { (try? Endpoint(typed: $0.description)) == $0 && $0.isLocal })
    }
}
