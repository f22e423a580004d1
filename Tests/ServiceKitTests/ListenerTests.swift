import Glibc
import Logging
import MessageBus
import Messages
import ServiceKit
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// A listening program while the addresses of a name come and go, on the loopback network, which has many.
@Suite(.timeLimit(.minutes(1)))
struct ListenerTests {
    private let context: Context
    private let thread: SocketThread
    private let addresses = Addresses()

    private final class Addresses: Sendable {
        let state = Mutex<HostAddresses>(.notFound("nobody knows it"))

        func set(_ hosts: [String]) { state.withLock { $0 = .found(hosts) } }
    }

    private final class Heard: Sendable {
        let topics = Mutex<[String: Int]>([:])

        func count(_ topic: String) -> Int { topics.withLock { $0[topic] ?? 0 } }
    }

    private final class Questions: Sendable {
        let asked = Mutex<[String]>([])
        let isHanging = Atomic(true)
    }

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    private func host() throws -> ServiceHost {
        var flags = FlagValues()
        flags.set("publish", "inproc://publish")
        flags.set("reply", "inproc://reply")
        // The tests resolve the names themselves, to addresses of this machine.
        flags.set("insecure", true)
        let reader = try ConfigurationReader(for: .recorder, flags: flags, environment: [:])
        return try ServiceHost(
            configuration: ServiceConfiguration(for: .recorder, reading: reader),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// A publisher on one address of the loopback network.
    private func publisher(at address: String, port: String) throws -> (Publisher, String) {
        let publisher = try Publisher(context: context, thread: thread)
        let endpoint = try publisher.bind(to: "tcp://\(address):\(port)")
        return (publisher, endpoint.split(separator: ":").last.map(String.init) ?? "")
    }

    private func withListener(
        at endpoints: [String], resolver: (@Sendable (String) -> HostAddresses)? = nil,
        _ body: (Health, Heard) async throws -> Void
    ) async throws {
        let host = try host()
        let names = NameLookup(resolver: resolver ?? { [addresses] _ in addresses.state.withLock { $0 } })
        let listener = try await host.listener(
            to: ["topic/"], of: .sensorPublisher, at: endpoints.map { try Endpoint(typed: $0) }, names: names)
        let heard = Heard()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                try await listener.forEachBatch { batch in
                    for message in 0..<batch.count {
                        let topic = String(decoding: batch[message][0], as: UTF8.self)
                        heard.topics.withLock { $0[topic, default: 0] += 1 }
                    }
                }
            }
            try await body(host.health, heard)
        }
    }

    private func reasons(_ health: Health) -> String { health.reply.reasons.joined(separator: "; ") }

    private func connected(_ health: Health) -> Double { health.reply.measures?["addressesConnected"] ?? -1 }

    /// Publishes until every publisher was heard.
    private func hear(_ publishers: [(Publisher, String)], in heard: Heard) async throws {
        try await eventually("\(publishers.map(\.1)) to be heard") {
            for (publisher, topic) in publishers { try publisher.publish([Array(topic.utf8)]) }
            return publishers.allSatisfy { heard.count($0.1) > 0 }
        }
    }

    @Test func aPublisherWhoseMessagesMayWaitIsNotCutOffForTheirLength() {
        let few = SocketOptions(receiveHighWaterMark: 100, messageBytes: 16 << 10)
        #expect(few.maximumWaitingBytes == SocketOptions().maximumWaitingBytes)
        let many = SocketOptions(receiveHighWaterMark: 10_000, messageBytes: 16 << 10)
        #expect(many.receiveHighWaterMark == 10_000)
        #expect(many.maximumWaitingBytes >= 10_000 * 16_000)
    }

    @Test func itHearsEveryAddressOfANameAndThoseThatComeLater() async throws {
        let (one, port) = try publisher(at: "127.0.0.1", port: "*")
        let (two, _) = try publisher(at: "127.0.0.2", port: port)
        let (three, _) = try publisher(at: "127.0.0.3", port: port)
        // The name is unknown at the start: that is not an error, but health reports it.
        try await withListener(at: ["tcp://sensors:\(port)"]) { health, heard in
            try await eventually("health to tell") { reasons(health).contains("nobody knows it") }
            addresses.set(["127.0.0.1", "127.0.0.2"])
            try await hear([(one, "topic/1"), (two, "topic/2")], in: heard)
            try await eventually("health to be well") { health.reply.status == .ok && connected(health) == 2 }
            addresses.set(["127.0.0.1", "127.0.0.2", "127.0.0.3"])
            let start = MonotonicClock.now
            try await hear([(three, "topic/3")], in: heard)
            // The next look-up comes within its interval; the rest allows for a busy machine.
            #expect(MonotonicClock.now - start < 4 * ConnectionPlan.lookupInterval)
        }
    }

    @Test func twoNamesOfOnePublisherBringEachMessageOnce() async throws {
        let (publisher, port) = try publisher(at: "127.0.0.1", port: "*")
        addresses.set(["127.0.0.1"])
        let endpoints = ["sensors", "others", "127.0.0.1", "localhost"].map { "tcp://\($0):\(port)" }
        try await withListener(at: endpoints) { health, heard in
            try await hear([(publisher, "topic/first")], in: heard)
            try await eventually("all names to be known") { health.reply.reasons.isEmpty && connected(health) == 1 }
            // The publisher learns of its connections a little later.
            try await eventually("one connection") { publisher.connectionEvents.accepted == 1 }
        }
    }

    @Test func itSaysWhoIsAwayAndTakesThemBack() async throws {
        // No client connects from these addresses, so a port that one has is free at the other.
        let (other, port) = try publisher(at: "127.0.0.3", port: "*")
        addresses.set(["127.0.0.2", "127.0.0.3"])
        try await withListener(at: ["tcp://sensors:\(port)"]) { health, heard in
            try await eventually("health to tell of one that was never there") {
                reasons(health).contains("tcp://127.0.0.2:\(port) (sensors) does not answer")
            }
            do {
                let (one, _) = try publisher(at: "127.0.0.2", port: port)
                try await hear([(one, "topic/1"), (other, "topic/2")], in: heard)
                try await eventually("health to be well") { health.reply.reasons.isEmpty }
            }
            try await eventually("health to tell that it has gone") {
                reasons(health).contains("tcp://127.0.0.2:\(port) (sensors) has been away since")
            }
            #expect(connected(health) == 1)
            let (back, _) = try publisher(at: "127.0.0.2", port: port)
            try await hear([(back, "topic/back")], in: heard)
            try await eventually("health to be well again") { health.reply.reasons.isEmpty }
        }
    }

    @Test func aResolverThatHangsKeepsNobodyWaiting() async throws {
        let (publisher, port) = try publisher(at: "127.0.0.1", port: "*")
        let questions = Questions()
        try await withListener(
            at: ["tcp://slow:\(port)", "tcp://quick:\(port)"],
            resolver: { name in
                questions.asked.withLock { $0.append(name) }
                while name == "slow", questions.isHanging.load(ordering: .relaxed) { usleep(1_000) }
                return .found(["127.0.0.1"])
            }
        ) { health, heard in
            defer { questions.isHanging.store(false, ordering: .relaxed) }
            try await hear([(publisher, "topic/1")], in: heard)
            try await eventually("health to tell of the one that hangs") {
                reasons(health).contains("the look-up of slow takes long")
            }
            #expect(questions.asked.withLock { $0.count { $0 == "slow" } } == 1)
        }
    }

    @Test(.enabled(if: hasIPv6, "this machine has no IPv6"))
    func ipv6IsSpokenToo() async throws {
        let (publisher, port) = try publisher(at: "[::1]", port: "*")
        addresses.set(["[::1]"])
        try await withListener(at: ["tcp://sensors:\(port)"]) { health, heard in
            try await hear([(publisher, "topic/6")], in: heard)
            try await eventually("health to count it") { connected(health) == 1 }
        }
    }

    private static let hasIPv6: Bool = {
        guard let context = try? Context(), let thread = try? SocketThread(name: "test"),
            let publisher = try? Publisher(context: context, thread: thread)
        else { return false }
        return (try? publisher.bind(to: "tcp://[::1]:*")) != nil
    }()
}
