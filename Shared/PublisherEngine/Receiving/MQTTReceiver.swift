import Logging
import Messages
import PublisherCore
import Runtime
import SampleSources
import SensorReaders
import ServiceKit
import ZeroMQ

/// Takes messages from a broker, and acknowledges them when their samples are published and kept.
///
/// Messages may wait for those before them, which come later over the same connection: reading goes on meanwhile, and what came is
/// acknowledged when nothing is under way any more. The broker sends so many messages unacknowledged and no more, so that moment comes.
/// What the program could not take because it stops is not acknowledged: the connection ends, and the broker keeps it.
actor MQTTReceiver {
    /// Messages that are dealt with at the same time.
    private static let maximumUnderWay = 64
    /// How long messages may come while others wait to be acknowledged, in nanoseconds.
    private static let longestUnacknowledged: Int64 = 1_000_000_000
    /// How often libmosquitto looks at the time, in nanoseconds: its own are in seconds.
    private static let interval: Int64 = 5_000_000_000
    /// How long a broker may take to accept the subscription, in nanoseconds.
    private static let patience: Int64 = 20_000_000_000
    /// The pause before the next try: longer each time, until messages come.
    private static let pauses: ClosedRange<Int64> = 500_000_000...30_000_000_000

    private let settings: MQTTSettings
    private let broker: MQTTBroker
    private let thread: SocketThread
    private var underWay = 0
    /// When the first message came that is not acknowledged yet; nil if there is none.
    private var unacknowledgedSince: Int64?
    /// Whether a message could not be taken that must come again.
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

    /// Takes messages until the task is cancelled.
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
                            "\(broker): nothing answers as a broker does; look at the address and the port")
                    }
                } catch {
                    failure = error as? MQTTFailure ?? MQTTFailure("\(error)")
                }
            }
        }
        if Task.isCancelled, underWay == 0, !mustComeAgain { connection.end() }
        return failure ?? MQTTFailure("\(broker): the connection ended")
    }

    /// A connection is made on a thread of its own, because that can't be interrupted.
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

    /// Writes what may be written, and reads what comes, or waits until something does.
    /// - Returns: what came. It counts as under way.
    private func turn(_ connection: MQTTConnection, _ rooms: AsyncStream<Void>) async throws -> [MQTTMessage] {
        if underWay == 0 { try acknowledge(connection) }
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

    /// Everything that came is published and kept.
    private func acknowledge(_ connection: MQTTConnection) throws(MQTTFailure) {
        guard !mustComeAgain else { throw MQTTFailure("\(broker): messages could not be taken; they come again") }
        try connection.write()
        unacknowledgedSince = nil
    }

    /// Reads messages, off this thread, and hands them on in the order in which the broker sent them: a run of samples begins with
    /// the message that is handed on first, and what came before is too late then.
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
                let push = try PushMessage(unanswered: payload, from: name, at: arrival)
                return BrokerMessage(topic: message.topic, push: .success(push))
            } catch {
                return BrokerMessage(topic: message.topic, push: .failure(error))
            }
        }
    }

    private func settle(_ push: BrokerPush, of connection: MQTTConnection, _ engine: SamplingEngine) async {
        if await engine.mustComeAgain(push) { mustComeAgain = true }
        underWay -= 1
        // At once, not when something comes next. A failure is seen by whoever reads.
        if underWay == 0 { try? acknowledge(connection) }
        room?.yield()
    }
}

/// A message from a broker: what was pushed with it, or why it cannot be read.
struct BrokerMessage: Sendable {
    let topic: String
    let push: Result<PushMessage, PublisherError>
}

/// What was handed on for a broker.
struct BrokerPush: Sendable {
    let topic: String
    /// nil if it could not be read: it would be the same the next time.
    let push: PendingPush?
}

extension SamplingEngine {
    /// Takes messages of a broker, in this order.
    /// - Returns: what each was, to be waited for.
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

    /// Returns when a message of a broker is published and kept, or refused.
    /// - Returns: whether it could not be taken because the program stops.
    func mustComeAgain(_ push: BrokerPush) async -> Bool {
        guard let pending = push.push, case .refused(let refusal) = await answer(to: pending) else { return false }
        if refusal.kind == .stopping { return true }
        core.noteNotTaken(refusal.message, of: "topic \(push.topic)")
        return false
    }

    /// Says how the connection to the broker is.
    /// - Parameter problem: nil if messages come.
    func noteBroker(_ problem: String?) {
        if let problem {
            runtime.tell(.report(.degraded, problem, for: "broker"))
            // Once, however often it is tried again.
            guard problem != brokerProblem else { return }
            runtime.logger.warning("no messages from the broker", metadata: [LogKey.error: "\(problem)"])
        } else {
            runtime.tell(.clear("broker"))
            runtime.logger.notice("messages are taken from the broker")
        }
        brokerProblem = problem
    }
}
