import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The real program, with devices that send datagrams.
@Suite(.timeLimit(.minutes(1)))
struct DatagramServiceTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    /// Runs the program while a closure runs.
    private func serving(
        _ arguments: [String] = [], _ body: (RequestClient, DatagramSender) async throws -> Void
    ) async throws {
        let all = ProgramUnderTest.anyPorts + ["--udp", "0"] + arguments
        try await ProgramUnderTest.run("sensor-publisher", arguments: all) { program in
            let line = try await program.line("where datagrams are taken") {
                $0.contains("datagrams are taken at 127.0.0.1:")
            }
            let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
            let ready = try await program.ready()
            try await body(
                RequestClient(context: context, thread: thread, endpoint: ready.reply), DatagramSender(port: port))
            try program.send(.terminate)
            let end = try await program.end()
            #expect(end == .exited(0))
        }
    }

    private func streams(_ client: RequestClient) async throws -> [String: StreamDescription] {
        let streams = try await client.send(StreamsList(), timeout: .seconds(50)).streams
        return Dictionary(uniqueKeysWithValues: streams.map { ($0.name.description, $0) })
    }

    @Test func bothAppsAndOwnDevicesAreTaken() async throws {
        try await serving { client, sender in
            for number in 0..<10 {
                try sender.send(
                    #"{"timestamp":\#(3_925_657_519_043_709 + number * 20_000_000),"values":[0.3,-0.9,10.0],"type":"android.sensor.accelerometer"}"#
                )
                try sender.send("1518819953\(100 + number * 20),0.123,0.586,0.2637,0.259,-0.5963,9.815\r\n")
                try sender.send(#"{"device":"m5","stream":"value","first":\#(number),"samples":[[\#(number),7]]}"#)
            }
            try sender.send("garbage")
            try await eventually("all samples") {
                let streams = try await streams(client)
                return ["udp-127.0.0.1/accelerometer", "udp-127.0.0.1/sensor1", "udp-127.0.0.1/sensor2", "m5/value"]
                    .allSatisfy { streams[$0]?.nextSequence == 10 }
            }
            try await eventually("what was not taken") {
                try await client.send(ServiceHealth(), timeout: .seconds(50)).reasons
                    .contains { $0.contains("1 messages were not taken, most recently from 127.0.0.1: ") }
            }
        }
    }

    @Test func namesOfTheConfigurationFileAreThoseOfAddresses() async throws {
        let configuration = #"{"sensor-publisher":{"phones":[{"device":"udp-127.0.0.1","name":"left-hand"}]}}"#
        try await withFile("phones.json", configuration) { path in
            try await serving(["--config", path]) { client, sender in
                try sender.send(#"{"timestamp":1,"values":[1],"type":"android.sensor.light"}"#)
                try await eventually("the stream") { try await streams(client)["left-hand/light"]?.nextSequence == 1 }
            }
        }
    }

    @Test func tenThousandNamesKeepNobodyOut() async throws {
        try await serving { client, sender in
            let other = try DatagramSender(port: sender.port, from: 2)
            for number in 0..<10_000 {
                try other.send(#"{"device":"d\#(number)","stream":"a","first":0,"samples":[[0,1]]}"#)
            }
            try await eventually("a phone beside them") {
                try sender.send(#"{"timestamp":1,"values":[1],"type":"android.sensor.light"}"#)
                return try await streams(client)["udp-127.0.0.1/light"] != nil
            }
            #expect(try await streams(client).count <= 257)
        }
    }

    @Test func whatWouldBeOpenToOthersIsRefused() async throws {
        let arguments = ProgramUnderTest.anyPorts + ["--udp", "0.0.0.0:0"]
        try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
            let end = try await program.end()
            #expect(end == .exited(78))
            #expect(program.standardError.contains("anybody who reaches it can send false samples"))
        }
        try await ProgramUnderTest.run("sensor-publisher", arguments: arguments + ["--insecure"]) { program in
            _ = try await program.ready()
        }
    }
}
