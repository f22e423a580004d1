import FoundationEssentials
import Messages
import NATS
import Synchronization
import TestSupport
import Testing

/// A consumer's reads from real servers.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct NATSConsumerTests {
    private static let limit = Duration.seconds(100)

    /// A server, a connection to it, and its stream.
    private static func withServer(
        _ kind: NATSServers.Kind, _ body: @Sendable @escaping (NATSServers, NATSConnection) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 1, in: directory)
            try await RevivedProgram.run(servers.servers) {
                let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
                try await connection.makeStream(within: limit)
                try await body(servers, connection)
            }
        }
    }

    private static func consumer(_ connection: NATSConnection, filter: String = "holdfast.>") throws -> NATSConsumer {
        try NATSConsumer("centre", of: "holdfast", filter: filter, headers: [], connection)
    }

    private static func publish(_ numbers: Range<Int>, _ connection: NATSConnection) throws {
        for number in numbers {
            try connection.publish(
                Array("\(number)".utf8), to: "holdfast.lab.\(number % 10)", identifier: "\(number)", headers: [])
        }
    }

    /// Requests end without a message, with room for one, and with room for more than there are, while messages are in flight.
    @Test(arguments: NATSServers.Kind.allCases)
    func eachMessageComesOnceInItsOrder(kind: NATSServers.Kind) async throws {
        try await Self.withServer(kind) { _, connection in
            let consumer = try Self.consumer(connection)
            #expect(try consumer.fetch(500, wait: 1).isEmpty)
            let count = 5_000
            var read: [NATSMessage] = []
            for round in 0..<count / 50 {
                try Self.publish(round * 50..<(round + 1) * 50, connection)
                read += try consumer.fetch([1, 500, 7][round % 3], wait: Int64(1 + round % 3))
                if round % 5 == 0 { try consumer.acknowledge() }
            }
            try await eventually("all messages", within: Self.limit) {
                read += try consumer.fetch(500, wait: 1_000)
                try consumer.acknowledge()
                return read.count >= count
            }
            #expect(read.map(\.sequence) == (1...UInt64(count)).map { $0 })
            #expect(read.map { String(decoding: $0.data, as: UTF8.self) } == (0..<count).map { "\($0)" })
            try await eventually("acknowledgements", within: Self.limit) {
                let place = try consumer.place()
                return place.acknowledged == UInt64(count) && place.given == UInt64(count)
            }
        }
    }

    @Test func aServerReportsItsTime() async throws {
        try await Self.withServer(.current) { _, connection in
            let text = try connection.serverTime(leading: "holdfast")
            let time = try WallTime(iso8601: try #require(text))
            #expect(abs(time.seconds(since: .now)) < 60)
        }
    }

    /// Fetched messages that were not acknowledged are found by their place; a consumer of the same name continues behind them.
    @Test func aSecondConsumerContinuesWhereTheFirstWas() async throws {
        try await Self.withServer(.current) { _, connection in
            let first = try Self.consumer(connection)
            try Self.publish(0..<10, connection)
            var read: [NATSMessage] = []
            try await eventually("all messages", within: Self.limit) {
                read += try first.fetch(10 - read.count, wait: 1_000)
                if read.count <= 5 { try first.acknowledge() }
                return read.count == 10
            }
            let second = try Self.consumer(connection)
            #expect(try second.place().given == 10)
            try Self.publish(10..<11, connection)
            #expect(try second.fetch(500, wait: 10_000).map(\.sequence) == [11])
        }
    }

    /// Also in a cluster, which reports that it acknowledged nothing.
    @Test(arguments: NATSServers.Kind.allCases)
    func aConsumerBeginsBehindWhatIsStored(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 3, in: directory)
            try await RevivedProgram.run(servers.servers) {
                let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
                try await connection.makeStream(within: Self.limit, replicas: 3)
                try await eventually("10 messages", within: Self.limit) {
                    try? Self.publish(0..<10, connection)
                    return (try? connection.lastMessage(of: "holdfast.lab.9", in: "holdfast", headers: [])) != nil
                }
                let stored = try #require(
                    try connection.lastMessage(of: "holdfast.lab.9", in: "holdfast", headers: [])?.sequence)
                let consumer = try await eventualValue("a consumer", within: Self.limit) {
                    try? Self.consumer(connection)
                }
                // A server may reply before the consumer's leader has its start.
                let place = try await eventualValue("the consumer's start", within: Self.limit) {
                    let place = try consumer.place()
                    return place.given >= stored ? place : nil
                }
                #expect(place.acknowledged >= stored && place.given == place.acknowledged, "\(place)")
                try Self.publish(10..<11, connection)
                let next = try await eventualValue("the next message", within: Self.limit) {
                    try consumer.fetch(500, wait: 1_000).first
                }
                #expect(next.sequence > place.given)
                // The message is not acknowledged yet.
                #expect(try consumer.place().acknowledged == place.acknowledged)
            }
        }
    }

    @Test func aConsumerOfOtherSubjectsIsRefused() async throws {
        try await Self.withServer(.current) { _, connection in
            _ = try Self.consumer(connection)
            let error = try #require(throws: NATSError.self) {
                try Self.consumer(connection, filter: "holdfast.lab.>")
            }
            #expect("\(error)".contains("the servers have it for holdfast.>: choose another name"))
        }
    }

    /// Otherwise it would be refused each time it is sent.
    @Test(arguments: NATSServers.Kind.allCases)
    func aMessageThatIsLargerThanAServerAcceptsIsKnown(kind: NATSServers.Kind) async throws {
        try await Self.withServer(kind) { _, connection in
            let error = try #require(throws: NATSError.self) {
                try connection.publish(
                    [UInt8](repeating: 0, count: 1_200_000), to: "holdfast.lab.0", identifier: "0", headers: [])
            }
            #expect(error.isTooLarge)
        }
    }

    /// If a server does not answer a request, the request is repeated.
    @Test func itReturnsWhileAServerHangs() async throws {
        try await Self.withServer(.current) { servers, connection in
            let consumer = try Self.consumer(connection)
            try await servers.servers[0].hold()
            // The client may notice at once that the server does not answer.
            #expect(((try? consumer.fetch(500, wait: 1)) ?? []).isEmpty)
            try await servers.servers[0].release()
            try await eventually("a connection", within: Self.limit) { connection.isConnected }
            try Self.publish(0..<1, connection)
            try await eventually("the message", within: Self.limit) {
                // The connection may be down for a moment.
                (try? consumer.fetch(500, wait: 1_000))?.map(\.sequence) == [1]
            }
        }
    }
}
