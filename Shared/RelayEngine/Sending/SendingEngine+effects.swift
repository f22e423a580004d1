import Files
import Logging
import MessageBus
import Messages
import NATS
import Recording
import RelayCore
import Runtime
import ServiceKit
import ZeroMQ

extension SendingEngine {
    enum Queue: Int, EffectQueueName {
        case spool, reading, subscriptions, recoveries, questions, messages

        /// Missing samples of different streams are replayed concurrently.
        var order: EffectOrder { self == .recoveries ? .atOnce : .inTurn }
    }

    static func queue(of effect: Sending.Effect) -> Queue? {
        switch effect {
        case .store, .trim: .spool
        case .load: .reading
        case .subscribe: .subscriptions
        case .recover: .recoveries
        case .prepare, .ask: .questions
        case .publish: .messages
        case .notice: nil
        }
    }

    func carryOut(_ effect: Sending.Effect) {
        if case .notice(let notice) = effect { runtime.tell(notice) }
    }

    func carryOutQueued(_ effect: Sending.Effect) async throws {
        switch effect {
        case .store(let block):
            let failure: RecordingError? = await log.attempt { log throws(RecordingError) in try log.append(block) }
            core.stored(block, failure, at: now)
        case .trim(let position, let current): await trim(before: position, current: current)
        case .load(let start, let end, let limit): await load(from: start, upTo: end, limit: limit)
        case .subscribe(let topic):
            do {
                try await listener.subscribe(to: topic)
            } catch {
                runtime.logger.error("not subscribed", metadata: ["topic": "\(topic)", LogKey.error: "\(error)"])
            }
        case .recover(let stream):
            try await publishers.recover(EngineStream(stream, of: self), limit: settings.recoveryLimit.duration)
        case .prepare: await prepare()
        case .ask(let name, let isDescriptionWanted): await ask(name, isDescriptionWanted)
        case .publish(let messages): await publish(messages)
        case .notice: return
        }
    }

    // MARK: The spool

    private func trim(before position: Int, current: Int) async {
        let failure: RecordingError? = await log.attempt { log throws(RecordingError) in
            _ = try log.remove(before: position, current: current)
        }
        if let failure { runtime.logger.warning("the spool can't be trimmed", metadata: [LogKey.error: "\(failure)"]) }
    }

    private func load(from start: Int, upTo end: Int, limit: Int) async {
        do throws(RecordingError) {
            let (events, next) = try await spool.run { cursor throws(RecordingError) in
                var events: [(event: RelayedEvent, position: Int)] = []
                let next = try cursor.read(from: start, upTo: end, limit: limit) { frame in
                    if let event = frame.event.flatMap({ RelayedEvent($0) }) { events.append((event, frame.position)) }
                }
                return (events, next)
            }
            core.loaded(events, next: next, at: now)
        } catch {
            core.notLoaded(error)
        }
    }

    // MARK: Servers

    private func prepare() async {
        let (connection, stream) = (connection, settings.stream)
        let result: Result<Sending.Servers, SentenceError>
        do throws(NATSError) {
            result = .success(
                try await asking.run { _ throws(NATSError) in
                    try connection.createStream(stream)
                    let state = try connection.streamState(stream.name)
                    let version = try connection.serverVersion(leading: stream.name)
                    return Sending.Servers(
                        version: "\(version)", isOld: version == .before2_10, canSync: version.syncsWithMajority,
                        replicas: state.replicas, duplicateWindow: state.duplicateWindow, made: state.made)
                })
        } catch {
            result = .failure(SentenceError("\(error)"))
        }
        core.prepared(result, at: now)
    }

    private func ask(_ name: StreamName, _ isDescriptionWanted: Bool) async {
        let (connection, stream) = (connection, settings.natsStream)
        let subject = RelaySubject(site: settings.ownSite, name: name)
        let result: Result<Sending.Stored, SentenceError>
        do throws(NATSError) {
            let (last, description) = try await asking.run {
                _ throws(NATSError) -> (NATSMessage?, NATSMessage?) in
                func last(_ subject: String) throws(NATSError) -> NATSMessage? {
                    try connection.lastMessage(of: subject, in: stream, headers: RelayedMessage.Header.all)
                }
                return try (last(subject.samples), isDescriptionWanted ? last(subject.descriptions) : nil)
            }
            result = .success(
                Sending.Stored(
                    last: last.flatMap { RelayedMessage.place(of: $0.headers) },
                    describedAt: description.flatMap { RelayedMessage($0)?.events[0].publishedAt }))
        } catch {
            result = .failure(SentenceError("\(error)"))
        }
        core.answered(name, result, at: now)
    }

    private func publish(_ messages: [Sending.Message]) async {
        let (connection, site) = (connection, settings.ownSite)
        let failed = await publishing.run { _ in
            var failed: [(identifier: String, outcome: Sending.Outcome)] = []
            for message in messages {
                do throws(NATSError) {
                    try connection.publish(
                        message.content.data, to: message.content.subject(at: site), identifier: message.identifier,
                        headers: message.content.headers, limit: Self.acknowledgementLimit)
                } catch {
                    let outcome: Sending.Outcome = error.isTooLarge ? .tooLarge("\(error)") : .notStored("\(error)")
                    failed.append((message.identifier, outcome))
                }
            }
            return failed
        }
        core.handedOver(messages, failed: failed, at: now)
    }

    /// After this many milliseconds without a reply, the result of a message is unknown, and it is published again.
    private static let acknowledgementLimit: Int64 = 3_000
}

extension RelayedMessage {
    init?(_ message: NATSMessage) {
        self.init(subject: message.subject, headers: message.headers, data: message.data)
    }
}
