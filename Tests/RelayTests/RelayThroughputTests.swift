import FoundationEssentials
import MessageBus
import Messages
import NATS
import RelayCore
import Synchronization
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// How fast a session catches up through three servers, compared with plain loops through the same servers. One loop sends each
/// batch in its own message, as a simple program would; the other sends the messages that the relay made of batches.
@Suite(
    .serialized, .timeLimit(.minutes(30)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing),
    .enabled(if: RelayKills.backlog != nil, "HOLDFAST_RELAY_BACKLOG=60 measures with a minute's samples"))
struct RelayThroughputTests {
    private static let limit = Duration.seconds(600)
    private static let devices = (0..<RelayKills.streams).map { "device-\($0)" }
    /// The plain loop's messages in flight.
    private static let underWay = 4_096

    @Test func aBacklogIsRecordedAndComparedWithAPlainLoop() async throws {
        let backlog = Duration.seconds(RelayKills.backlog ?? 1)
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(.current, count: 3, in: directory)
            let ends = try FreePort.endpoints(8)
            func program(_ name: String, _ first: Int, _ arguments: [String]) throws -> RevivedProgram {
                try RevivedProgram(name, at: ends[first...(first + 1)], arguments, in: directory)
            }
            let streams = Self.devices.map {
                #"{"device": "\#($0)", "stream": "sine", "signal": "sine", "rate": 100, "batch": 10}"#
            }
            try #"{"streams": [\#(streams.joined(separator: ",\n"))]}"#
                .write(toFile: directory.appending("streams.json").string, atomically: true, encoding: .utf8)
            let programs = [
                try program("sensor-publisher", 0, ["--config", "streams.json"]),
                try program(
                    "relay", 2, servers.options("to") + ["--subscribe", ends[0], "--data", "site", "--site", "lab"]),
                try program("relay", 4, servers.options("from") + ["--data", "centre"]),
                try program("recorder", 6, ["--subscribe", ends[4], "--data", "centre"]),
            ]
            let (context, thread) = (try Context(), try SocketThread(name: "test"))
            let clients = try [1, 5, 7].map {
                try RequestClient(context: context, thread: thread, endpoint: ends[$0])
            }
            let (atSite, atCentre, recordings) = (clients[0], clients[1], clients[2])
            try await RevivedProgram.run(servers.servers + programs) {
                try await eventually("the streams at the centre", within: Self.limit) {
                    try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams.count == Self.devices.count
                }
                try await Self.printLatency(of: recordings)
                _ = try await recordings.send(RecordingStart(session: "far", streams: ["*"]), timeout: .seconds(60))
                func recorded() async throws -> Int {
                    try await recordings.send(RecordingStatus(session: "far"), timeout: .seconds(60)).logs
                        .reduce(0) { $0 + $1.samples }
                }
                try await eventually("samples", within: Self.limit) { try await recorded() > 0 }
                let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
                let copies = try NATSConsumer(
                    "copies", of: "holdfast", filter: "holdfast.>", headers: RelayedMessage.Header.all, connection)

                // A majority is away: samples meanwhile wait on the site's disk.
                try await servers.servers[0].hold()
                try await servers.servers[1].hold()
                try await Task.sleep(for: backlog)
                for device in Self.devices {
                    let stream = try #require(StreamName("\(device)/sine"))
                    _ = try await atSite.send(StreamsStop(stream: stream), timeout: .seconds(60))
                }
                try await servers.servers[0].release()
                try await servers.servers[1].release()
                let before = try await recorded()
                var began = ContinuousClock.now
                try await eventually("the first samples", within: Self.limit) {
                    // From just before the first samples arrive: until then the servers elect a leader.
                    let (now, count) = (ContinuousClock.now, try await recorded())
                    if count == before { began = now }
                    return count > before
                }
                try await eventually("all streams' ends", within: Self.limit) {
                    try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams
                        .allSatisfy { $0.state == .stopped }
                }
                let result = try await recordings.send(RecordingStop(session: "far"), timeout: .seconds(120))
                let time = ContinuousClock.now - began
                #expect(result.report.isWhole)
                let samples = result.logs.reduce(0) { $0 + $1.samples } - before

                var messages: [NATSMessage] = []
                while case let fetched = try copies.fetch(500, wait: 2_000), !fetched.isEmpty {
                    messages += fetched
                    try copies.acknowledge()
                }
                let batches = messages.compactMap {
                    RelayedMessage(subject: $0.subject, headers: $0.headers, data: $0.data)
                }.flatMap(\.events).map { event in
                    event.body + (event.packed ?? [])
                }
                print("\(samples) samples, relays and recorder: \(time)")
                for (name, loop) in [("batches", batches), ("messages", messages.map(\.data))] {
                    let plain = try await Self.plainLoop(loop, named: name, through: servers)
                    let bytes = loop.reduce(0) { $0 + $1.count }
                    print(
                        "plain loop, \(loop.count) \(name) of \(bytes / max(1, loop.count)) bytes: \(plain),",
                        "ratio \(plain / time)")
                }
            }
        }
    }

    /// Records live samples, without a backlog, and prints the time from publication to the disk.
    private static func printLatency(of recordings: RequestClient) async throws {
        _ = try await recordings.send(RecordingStart(session: "live", streams: ["*"]), timeout: .seconds(60))
        try await Task.sleep(for: .seconds(20))
        let report = try await recordings.send(RecordingStop(session: "live"), timeout: .seconds(60)).report
        #expect(report.isWhole)
        let latency = report.commitLatency
        print(
            "from publication to disk: \(latency.median) s (median), \(latency.p99) s (99 %), \(latency.maximum) s at most"
        )
    }

    /// Sends messages through a stream with three copies, and reads them back meanwhile.
    private static func plainLoop(
        _ messages: [[UInt8]], named name: String, through servers: NATSServers
    ) async throws -> Duration {
        let acknowledged = Atomic(0)
        let sender = try NATSConnection(NATSSettings(servers: servers.addresses, name: "sender")) { _ in
        } acknowledged: { _ in
            acknowledged.add(1, ordering: .relaxed)
        }
        try sender.createStream(
            NATSStreamSettings(
                name: name, subjects: ["\(name).>"], replicas: 3, maximumBytes: nil, maximumAge: nil,
                duplicateWindow: 120_000_000_000))
        let reader = try OwnReader(of: name, servers)
        let began = ContinuousClock.now
        async let read = reader.read(messages.count)
        for (number, message) in messages.enumerated() {
            while number - acknowledged.load(ordering: .relaxed) >= underWay { await Task.yield() }
            try sender.publish(message, to: "\(name).\(number % 100)", identifier: "\(number)", headers: [])
        }
        #expect(try await read == messages.count)
        return ContinuousClock.now - began
    }

    /// Reads on its own thread, because its calls block.
    private actor OwnReader {
        private let thread: SocketThread
        private let consumer: NATSConsumer

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

        init(of stream: String, _ servers: NATSServers) throws {
            thread = try SocketThread(name: "reader")
            consumer = try NATSConsumer(
                "reader", of: stream, filter: "\(stream).>", headers: [],
                NATSConnection(NATSSettings(servers: servers.addresses, name: "reader")))
        }

        func read(_ count: Int) throws -> Int {
            var read = 0
            let deadline = MonotonicClock.now + 600_000_000_000
            while read < count, MonotonicClock.now < deadline {
                read += try consumer.fetch(500, wait: 1_000).count
                try consumer.acknowledge()
            }
            return read
        }
    }
}
