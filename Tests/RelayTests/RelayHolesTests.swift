import FoundationEssentials
import MessageBus
import Messages
import RelayCore
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

@testable import NATS

/// A relay's answers about samples that its servers lack or do not return.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelayHolesTests {
    private static let limit = Duration.seconds(100)
    private static let name = StreamName(device: "phone", stream: "value")

    private static func samples(_ range: Range<Int>, of epoch: String = "e") throws -> RelayedMessage {
        let body = #"{"epoch":"\#(epoch)","sequence":\#(range.lowerBound),"count":\#(range.count)}"#
        return RelayedMessage([
            RelayedEvent(
                name: name, place: BatchPlace(epoch: epoch, from: range.lowerBound, count: range.count),
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

    /// Stores messages on the servers: samples 0 to 9 and 20 to 29 with an unrelated message between them, after the samples 0 to
    /// 9 of each of these earlier runs.
    private static func store(at servers: NATSServers, behind runs: [String]) async throws {
        let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
        try await connection.makeStream(within: limit)
        // Repeats each message until it is stored, in succession: a busy server may refuse one, and the next would be stored
        // before it.
        func store(
            _ data: [UInt8], to subject: String, _ identifier: String, headers: [(name: String, value: String)] = []
        ) async throws {
            try await eventually("the message \(identifier)", within: limit) {
                try? connection.publish(data, to: subject, identifier: identifier, headers: headers)
                return (try? connection.lastMessage(of: subject, in: "holdfast", headers: []))?.data == data
            }
        }
        func store(_ message: RelayedMessage, _ identifier: String) async throws {
            try await store(message.data, to: message.subject(at: "lab"), identifier, headers: message.headers)
        }
        try await store(description(at: WallTime(seconds: Date().timeIntervalSince1970)), "description")
        for run in runs { try await store(samples(0..<10, of: run), run) }
        try await store(samples(0..<10), "first")
        try await store(Array("hello".utf8), to: RelaySubject(site: "lab", name: name).samples, "other")
        try await store(samples(20..<30), "last")
    }

    /// A relay that serves the stored messages, and a client of it.
    private static func withRelay(
        _ servers: NATSServers, in directory: FilePath, behind runs: [String] = [],
        _ body: (RequestClient) async throws -> Void
    ) async throws {
        let ends = try FreePort.endpoints(2)
        let relay = try RevivedProgram(
            "relay", at: ends[...], servers.options("from") + ["--data", "centre"], in: directory)
        try await RevivedProgram.run(servers.servers) {
            try await store(at: servers, behind: runs)
            try await RevivedProgram.run([relay]) {
                let client = try RequestClient(
                    context: Context(), thread: SocketThread(name: "test"), endpoint: ends[1])
                try await eventually("the stream", within: limit) {
                    try await client.send(StreamsList(), timeout: .seconds(60)).streams.count == 1
                }
                try await body(client)
            }
        }
    }

    private static func replay(
        _ epoch: String = "e", from: Int, at client: RequestClient, timeout: Duration = .seconds(60)
    ) async throws -> SamplesReplay.Reply {
        try await client.send(
            SamplesReplay(device: "phone", stream: "value", epoch: epoch, from: from, count: 12), timeout: timeout)
    }

    @Test(arguments: NATSServers.Kind.allCases)
    func samplesThatNoMessageHasAreToldFromThoseThatOneHas(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 1, in: directory)
            try await Self.withRelay(servers, in: directory) { client in
                let known = try await Self.replay(from: 3, at: client)
                #expect(known.from == 0 && known.count == 10, "\(known)")
                let hole = try await Self.replay(from: 12, at: client)
                #expect(hole.from == 20 && hole.count == 10, "\(hole)")
                let behind = try await Self.replay(from: 24, at: client)
                #expect(behind.from == 20 && behind.count == 10, "\(behind)")
            }
        }
    }

    /// An administrator may change the stream: then replicas do not reply. Servers of version 2.9 give no answer at all.
    @Test func samplesAreReplayedByTheLeaderIfOnlyItMayReply() async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(.current, count: 1, in: directory)
            try await Self.withRelay(servers, in: directory) { client in
                let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
                try await eventually("a connection", within: Self.limit) {
                    connection.connectAgain()
                    return connection.isConnected
                }
                let change = """
                    {"name":"holdfast","subjects":["holdfast.>"],"retention":"limits","discard":"new","storage":"file",\
                    "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_msg_size":-1,"num_replicas":1,\
                    "duplicate_window":120000000000,"allow_direct":false}
                    """
                let answer = try connection.request(
                    "$JS.API.STREAM.UPDATE.holdfast", change, limit: NATSConnection.requestLimit)
                #expect(!String(decoding: answer, as: UTF8.self).contains(#""error""#))
                let known = try await Self.replay(from: 3, at: client)
                #expect(known.from == 0 && known.count == 10, "\(known)")
                let hole = try await Self.replay(from: 12, at: client)
                #expect(hole.from == 20 && hole.count == 10, "\(hole)")
            }
        }
    }

    /// The relay was started after these runs were over, and recorders treat a refusal as a loss.
    @Test(arguments: NATSServers.Kind.allCases)
    func runsFromBeforeTheRelayWasStartedAreFound(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 1, in: directory)
            try await Self.withRelay(servers, in: directory, behind: ["a", "b", "c"]) { client in
                for run in ["a", "c"] {
                    let found = try await Self.replay(run, from: 3, at: client)
                    #expect(found.from == 0 && found.count == 10, "\(found)")
                    #expect(try await Self.replay(run, from: 10, at: client).count == 0)
                }
                await #expect(throws: RequestError.self) { try await Self.replay("never", from: 3, at: client) }
            }
        }
    }

    /// Recorders give up samples after 10 s of unanswered requests. libnats holds its lock while it tries to connect.
    @Test func whileServersHangEachRequestIsAnsweredBeforeRecordersLosePatience() async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(.current, count: 3, in: directory)
            try await Self.withRelay(servers, in: directory) { client in
                async let hang: Void = withThrowingTaskGroup(of: Void.self) { group in
                    for server in servers.servers { group.addTask { try await server.freeze(for: .seconds(12)) } }
                    try await group.waitForAll()
                }
                var (refusals, unanswered) = (0, 0)
                for _ in 0..<100 where unanswered < 2 {
                    do {
                        _ = try await Self.replay(from: 3, at: client, timeout: .seconds(2))
                        unanswered = 0
                    } catch let error as RequestError {
                        #expect(error.data?.reason == RequestError.Reason.busy.word)
                        (refusals, unanswered) = (refusals + 1, 0)
                    } catch let error as ZeroMQError where error.code == .timedOut {
                        // On a busy machine one answer may be late, and recorders wait longer the next time.
                        unanswered += 1
                    }
                    // As often as many recorders would ask.
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(refusals > 0)
                #expect(unanswered < 2)
                try await hang
                try await eventually("samples", within: Self.limit) {
                    (try? await Self.replay(from: 3, at: client))?.count == 10
                }
            }
        }
    }
}
