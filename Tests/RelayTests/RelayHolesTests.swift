import FoundationEssentials
import MessageBus
import Messages
import NATS
import RelayCore
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// What a relay says of samples that its servers do not have.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelayHolesTests {
    private static let limit = Duration.seconds(100)
    private static let name = StreamName(device: "phone", stream: "value")

    private static func samples(_ range: Range<Int>) throws -> RelayedMessage {
        let body = #"{"epoch":"e","sequence":\#(range.lowerBound),"count":\#(range.count)}"#
        return RelayedMessage([
            RelayedEvent(
                name: name, place: BatchPlace(epoch: "e", from: range.lowerBound, count: range.count),
                body: Array(body.utf8), packed: nil, time: Array("1795219200".utf8))
        ])
    }

    private static func description(at now: WallTime) throws -> RelayedMessage {
        let description = StreamDescription(
            source: "p", sequence: 0, device: name.device, stream: name.stream, epoch: "e", state: .running,
            fields: ["uptime", "x"], packed: false, nextSequence: 30, replay: "tcp://site",
            clock: ClockReading(uptime: 5, date: now))
        return RelayedMessage([
            RelayedEvent(
                name: name, place: nil, body: try WireCoding.encode(description), packed: nil,
                time: Array("1795219200".utf8))
        ])
    }

    /// Stores what the servers have: samples 0 to 9 and 20 to 29, and a message of somebody else between them.
    private static func store(at servers: NATSServers) async throws {
        let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
        try await eventually("a stream", within: limit) {
            (try? connection.createStream(
                NATSStreamSettings(
                    name: "holdfast", subjects: ["holdfast.>"], replicas: 1, maximumBytes: nil, maximumAge: nil,
                    duplicateWindow: 120_000_000_000))) != nil
        }
        let subject = RelaySubject(site: "lab", name: name).samples
        func publish(_ message: RelayedMessage, _ identifier: String) throws {
            try connection.publish(
                message.data, to: message.subject(at: "lab"), identifier: identifier, headers: message.headers)
        }
        try publish(description(at: WallTime(seconds: Date().timeIntervalSince1970)), "description")
        try publish(samples(0..<10), "first")
        try connection.publish(Array("hello".utf8), to: subject, identifier: "other", headers: [])
        try publish(samples(20..<30), "last")
        try await eventually("all messages", within: limit) {
            try connection.lastMessage(of: subject, in: "holdfast", headers: RelayedMessage.Header.all)?
                .headers[RelayedMessage.Header.from] == "20"
        }
    }

    @Test(arguments: NATSServers.Kind.allCases)
    func samplesThatNoMessageHasAreToldFromThoseThatOneHas(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 1, in: directory)
            let ends = try (0..<2).map { _ in try FreePort.endpoint() }
            let relay = try RevivedProgram(
                "relay", at: ends[...], servers.options("from") + ["--data", "centre"], in: directory)
            try await RevivedProgram.run(servers.servers) {
                try await Self.store(at: servers)
                try await RevivedProgram.run([relay]) {
                    let client = try RequestClient(
                        context: Context(), thread: SocketThread(name: "test"), endpoint: ends[1])
                    try await eventually("the stream", within: Self.limit) {
                        try await client.send(StreamsList(), timeout: .seconds(60)).streams.count == 1
                    }
                    func replay(from: Int) async throws -> SamplesReplay.Reply {
                        try await client.send(
                            SamplesReplay(device: "phone", stream: "value", epoch: "e", from: from, count: 12),
                            timeout: .seconds(60))
                    }
                    let known = try await replay(from: 3)
                    #expect(known.from == 0 && known.count == 10, "\(known)")
                    let hole = try await replay(from: 12)
                    #expect(hole.from == 20 && hole.count == 10, "\(hole)")
                    let behind = try await replay(from: 24)
                    #expect(behind.from == 20 && behind.count == 10, "\(behind)")
                }
            }
        }
    }
}
