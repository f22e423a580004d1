import Logging
import Messages
import PublisherCore
import Runtime
import SampleSources
import SensorReaders
import ServiceKit
import ZeroMQ

/// Receives messages from a broker, and acknowledges them when their samples are published and kept.
///
/// A message may wait for earlier ones that arrive later over the same connection, so reading continues meanwhile. Messages are
/// acknowledged when none are under way. That moment comes, because the broker limits its unacknowledged messages. A message that
/// the program cannot take because it stops is not acknowledged: the connection ends, and the broker keeps the message.
actor MQTTReceiver {
    /// The most messages under way at a time.
    private static let maximumUnderWay = 64
    /// How long reading may continue while messages wait for acknowledgement, in nanoseconds.
    private static let longestUnacknowledged: Int64 = 1_000_000_000
    /// How often libmosquitto checks its timers, in nanoseconds: they count seconds.
    private static let interval: Int64 = 5_000_000_000
    /// How long a broker may take to accept the subscription, in nanoseconds.
    private static let patience: Int64 = 20_000_000_000
    /// The pause before the next attempt, in nanoseconds: doubled each time, until the broker accepts the subscription.
    private static let pauses: ClosedRange<Int64> = 500_000_000...30_000_000_000

    private let settings: MQTTSettings
    private let broker: MQTTBroker
    private let thread: SocketThread
    private var underWay = 0
    /// When the first unacknowledged message arrived, in nanoseconds; nil if there is none.
    private var unacknowledgedSince: Int64?
    /// Whether a message was refused that the broker must send again.
    private var mustComeAgain = false
    private var room: AsyncStream<Void>.Continuation?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Returns: nil without `mqtt`.
    init?(_ settings: MQTTSettings) throws {
        guard let broker = settings.broker else { return nil }
        self.settings = settings
        self.broker = broker
        thread = try SocketThread(name: "mqtt")
    }

    private var now: Int64 { SamplingEngine.clock().monotonic }

    /// Receives messages until the task is cancelled.
    func run(_ engine: SamplingEngine) async throws {
        var pause = Self.pauses.lowerBound
        while true {
            var isSubscribed = false
            let failure: MQTTFailure
            do throws(MQTTFailure) {
                let connection = try MQTTConnection(settings, to: broker)
                failure = await serve(connection, engine, &isSubscribed)
            } catch {
                failure = error
            }
            try Task.checkCancellation()
            await engine.noteBroker(failure.description)
            if isSubscribed { pause = Self.pauses.lowerBound }
            try await engine.wait(until: now + pause) { false }
            pause = min(2 * pause, Self.pauses.upperBound)
        }
    }

    /// Serves a connection until it fails.
    /// - Returns: why it failed, or that it was cancelled.
    private func serve(
        _ connection: MQTTConnection, _ engine: SamplingEngine, _ isSubscribed: inout Bool
    ) async -> MQTTFailure {
        if let failure = await connect(connection) { return failure }
        (underWay, unacknowledgedSince, mustComeAgain) = (0, nil, false)
        let (rooms, room) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.room = room
        let begun = now
        var failure: MQTTFailure?
        await withDiscardingTaskGroup { group in
            while failure == nil {
                do {
                    for push in await handOn(try await turn(connection, rooms), to: engine) {
                        group.addTask { await self.settle(push, of: connection, engine) }
                    }
                    if connection.isSubscribed, !isSubscribed {
                        isSubscribed = true
                        await engine.noteBroker(nil)
                    }
                    if !isSubscribed, now - begun > Self.patience {
                        failure = MQTTFailure(
                            "\(broker): no broker answers; check the address and the port")
                    }
                } catch {
                    failure = error as? MQTTFailure ?? MQTTFailure("\(error)")
                }
            }
        }
        if Task.isCancelled, underWay == 0, !mustComeAgain { connection.end() }
        return failure ?? MQTTFailure("\(broker): the connection ended")
    }

    /// Connects on a separate thread, because connecting cannot be interrupted.
    private func connect(_ connection: MQTTConnection) async -> MQTTFailure? {
        let (ends, end) = AsyncStream.makeStream(of: MQTTFailure?.self)
        do {
            try startThread(name: "mqtt connect") {
                end.yield(connection.connect())
                end.finish()
            }
        } catch {
            return MQTTFailure("\(error)")
        }
        for await failure in ends { return failure }
        return MQTTFailure("\(broker): the program is stopping")
    }

    /// Writes pending packets, and reads the next ones or waits for them.
    /// - Returns: the messages received. They count as under way.
    private func turn(_ connection: MQTTConnection, _ rooms: AsyncStream<Void>) async throws -> [MQTTMessage] {
        // Without kept messages there is nothing to acknowledge, and a ping must not wait.
        if underWay == 0 || unacknowledgedSince == nil { try acknowledge(connection) }
        try connection.look()
        let isLate = unacknowledgedSince.map { now - $0 > Self.longestUnacknowledged } ?? false
        if underWay >= Self.maximumUnderWay || isLate && underWay > 0 {
            for await _ in rooms { break }
            try Task.checkCancellation()
            return []
        }
        guard try await thread.readable(descriptor: connection.descriptor, deadline: now + Self.interval) else {
            return []
        }
        try connection.read()
        let messages = connection.takeMessages()
        underWay += messages.count
        if unacknowledgedSince == nil, messages.contains(where: \.isKept) { unacknowledgedSince = now }
        return messages
    }

    /// Acknowledges all messages received so far; all of them are published and kept.
    private func acknowledge(_ connection: MQTTConnection) throws(MQTTFailure) {
        guard !mustComeAgain else {
            throw MQTTFailure("\(broker): messages could not be taken; the broker will send them again")
        }
        try connection.write()
        unacknowledgedSince = nil
    }

    /// Parses messages off this thread, and hands them on in the broker's order: a run of samples begins with the first message
    /// handed on, and samples before it are refused as too late.
    private func handOn(_ messages: [MQTTMessage], to engine: SamplingEngine) async -> [BrokerPush] {
        messages.isEmpty ? [] : await engine.take(await Self.read(messages))
    }

    @concurrent private nonisolated static func read(_ messages: [MQTTMessage]) async -> [BrokerMessage] {
        messages.map { message in
            do throws(PublisherError) {
                guard let payload = message.payload else {
                    throw PublisherError(
                        .invalidInput, "the message is larger than \(MQTTConnection.largestMessage) bytes")
                }
                let name = "mqtt-" + message.topic.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(80)
                let arrival = SamplingEngine.clock().monotonic
                let push = try PushMessage(unanswered: payload, from: name, at: arrival, mayBeKept: true)
                return BrokerMessage(topic: message.topic, push: .success(push))
            } catch {
                return BrokerMessage(topic: message.topic, push: .failure(error))
            }
        }
    }

    private func settle(_ push: BrokerPush, of connection: MQTTConnection, _ engine: SamplingEngine) async {
        if await engine.mustComeAgain(push) { mustComeAgain = true }
        underWay -= 1
        // Now, not when the next packet arrives. The reading task notices a failure.
        if underWay == 0 { try? acknowledge(connection) }
        room?.yield()
    }
}

/// A message from a broker, or the reason why it cannot be read.
struct BrokerMessage: Sendable {
    let topic: String
    let push: Result<PushMessage, PublisherError>
}

/// A broker's message that was handed to the core.
struct BrokerPush: Sendable {
    let topic: String
    /// nil if the message could not be read: sent again, it would be the same.
    let push: PendingPush?
}

extension SamplingEngine {
    /// Takes messages of a broker, in this order.
    /// - Returns: the messages, to wait for their outcome.
    func take(_ messages: [BrokerMessage]) -> [BrokerPush] {
        begin()
        let pushes = messages.map { message in
            switch message.push {
            case .success(let push):
                return BrokerPush(topic: message.topic, push: beginPush(push))
            case .failure(let error):
                core.noteUnreadable(error, of: "topic \(message.topic)")
                return BrokerPush(topic: message.topic, push: nil)
            }
        }
        perform()
        return pushes
    }

    /// Waits until a message of a broker is published and kept, or refused.
    /// - Returns: whether it was refused because the program stops.
    func mustComeAgain(_ push: BrokerPush) async -> Bool {
        guard let pending = push.push, case .refused(let refusal) = await answer(to: pending) else { return false }
        if refusal.kind == .stopping { return true }
        core.noteNotTaken(refusal.message, of: "topic \(push.topic)")
        return false
    }

    /// Reports the state of the connection to the broker.
    /// - Parameter problem: nil if messages arrive.
    func noteBroker(_ problem: String?) {
        if let problem {
            runtime.tell(.report(.degraded, problem, for: "broker"))
            // Log it once, regardless of the number of attempts.
            guard problem != brokerProblem else { return }
            runtime.logger.warning("no messages from the broker", metadata: [LogKey.error: "\(problem)"])
        } else {
            runtime.tell(.clear("broker"))
            runtime.logger.notice("messages are taken from the broker")
        }
        brokerProblem = problem
    }
}
