import DequeModule
import Logging
import MessageBus
package import Messages
import ServiceKit

/// What is sent to the servers, and what they say.
extension Sending {
    /// Batches in a message, and bytes: the largest message of a server is a megabyte.
    private static let largestGroup = 1_000
    private static let largestMessage = 256 << 10
    private static let pauses: ClosedRange<Int64> = 100_000_000...2_000_000_000

    // MARK: Connection

    /// Notes whether there is a connection.
    /// - Parameter reason: why there is none.
    package func noteConnected(_ isConnected: Bool, _ reason: String?, at now: Moment) {
        self.isConnected = isConnected
        problem = isConnected ? nil : reason
        if isConnected {
            prepareAt = now.monotonic
            // What waits for its pause was refused by a server that was away.
            for stream in retrying { stream.retryAt = now.monotonic }
        }
        watchServers(at: now)
        prepare(at: now)
        retry(at: now)
        pump(at: now)
    }

    /// Takes it that nothing more will be said of messages that are under way: the library gave the connection up.
    package func noteGivenUp(at now: Moment) {
        isConnected = false
        acknowledged(underWay.keys.map { ($0, .unknown("the connection has ended")) }, at: now)
    }

    func prepare(at now: Moment) {
        if servers == nil { makeStream(at: now) }
    }

    /// Has the stream made if it is missing. It may have been deleted, or lost with the servers' disks, after it was prepared: then
    /// servers say of messages what they also say while they have no leader, and nothing else than a look shows which it is. What
    /// waits is sent again meanwhile.
    private func makeStream(at now: Moment) {
        guard isConnected, !isPreparing, now.monotonic >= prepareAt else { return }
        isPreparing = true
        emit(.prepare)
    }

    /// Takes the result of `prepare`.
    package func prepared(_ result: Result<Servers, SentenceError>, at now: Moment) {
        isPreparing = false
        prepareAt = now.monotonic + Self.pauses.upperBound
        switch result {
        case .success(let servers): notePrepared(servers)
        case .failure(let error):
            // Without a leader, messages may be stored again before there is an answer.
            if servers == nil || problem != nil { problem = error.sentence }
        }
        watchServers(at: now)
        pump(at: now)
    }

    private func notePrepared(_ servers: Servers) {
        defer { for stream in streams where !stream.isOpen { ask(stream) } }
        let known = self.servers
        self.servers = servers
        guard let known else {
            problem = nil
            return emit(
                .log(
                    .notice, "streams are sent",
                    [
                        "servers": "\(settings.servers)", "version": "\(servers.version)",
                        "replicas": "\(servers.replicas)",
                    ]))
        }
        guard known.made != servers.made else { return }
        emit(
            .log(
                .warning, "the stream in NATS is another one: it was deleted and made anew",
                ["servers": "\(settings.servers)"]))
        // It has no descriptions.
        for stream in streams { stream.described = nil }
    }

    // MARK: What the servers have

    func ask(_ stream: SentStream) {
        guard isConnected, servers != nil, stream.remote == .unknown else { return }
        stream.remote = .asking
        emit(.ask(stream.name, description: stream.leftDescriptions == .unknown))
    }

    /// Takes the result of `ask`.
    package func answered(_ name: StreamName, _ stored: Result<Stored, SentenceError>, at now: Moment) {
        guard let stream = byName[name] else { return }
        switch stored {
        case .success(let stored):
            let place = stored.last
            stream.remote = .known(place)
            if stream.leftDescriptions == .unknown { stream.leftDescriptions = .known(stored.describedAt) }
            if !stream.isOpen {
                stream.start(at: place.flatMap { $0.epoch == stream.ordered.epoch ? $0.end : nil } ?? 0)
            }
            if let place, stream.epochs.isEmpty, place.epoch == stream.ordered.epoch { stream.note(epoch: place.epoch) }
            settleDoubt(of: stream)
            makeReady(stream)
        case .failure:
            stream.remote = .unknown
            makeStream(at: now)
            wait(stream, at: now)
        }
        pump(at: now)
    }

    /// Has a message that servers took for a repeat sent under another identifier if they do not have it.
    private func settleDoubt(of stream: SentStream) {
        guard stream.isInDoubt else { return }
        stream.isInDoubt = false
        if let place = stream.queue.first?.event.place, !stream.hasStored(place) { stream.copies += 1 }
    }

    // MARK: Publishing

    func makeReady(_ stream: SentStream) {
        guard !stream.isReady, !stream.isUnderWay, stream.retryAt == nil, !stream.queue.isEmpty else { return }
        stream.isReady = true
        ready.append(stream)
    }

    /// Publishes what may be published now, in one burst.
    func pump(at now: Moment) {
        guard isConnected, servers != nil else { return }
        var messages: [Message] = []
        while underWay.count < Self.maximumUnderWay, let stream = ready.popFirst() {
            stream.isReady = false
            if let message = next(of: stream, at: now) { messages.append(message) }
        }
        if !messages.isEmpty { emit(.publish(messages)) }
    }

    private func next(of stream: SentStream, at now: Moment) -> Message? {
        switch stream.remote {
        case .known: break
        case .asking: return nil
        case .unknown:
            ask(stream)
            return nil
        }
        while let first = stream.queue.first, isStored(first) {
            samplesAcknowledged += first.event.place?.count ?? 0
            pop(stream)
        }
        guard let message = message(of: stream) else { return nil }
        // What stands behind something that they do not have they do not have either.
        if stream.leftDescriptions != .unknown { stream.leftDescriptions = .none }
        stream.isUnderWay = true
        if stream.firstSentAt == nil { stream.firstSentAt = now.monotonic }
        underWay[message.identifier] = stream
        return message
    }

    /// Whether the servers have an event of the spool already.
    private func isStored(_ event: SpooledEvent) -> Bool {
        if let place = event.event.place { return event.stream.hasStored(place) }
        guard event.position < leftEnd, case .known(let last?) = event.stream.leftDescriptions,
            let time = event.event.publishedAt
        else { return false }
        return time <= last
    }

    /// The first of what waits, in one message: batches that follow one another, or a description.
    private func message(of stream: SentStream) -> Message? {
        var events: [RelayedEvent] = []
        var bytes = 0
        for waiting in stream.queue {
            let event = waiting.event
            if stream.groupCount > 0 {
                if events.count == stream.groupCount { break }
            } else if let last = events.last {
                guard let end = last.place, let next = event.place, next.epoch == end.epoch, next.from == end.end,
                    events.count < Self.largestGroup, bytes + event.byteCount <= Self.largestMessage
                else { break }
            }
            events.append(event)
            bytes += event.byteCount
        }
        guard !events.isEmpty else { return nil }
        stream.groupCount = events.count
        let content = RelayedMessage(events)
        let copy = stream.copies > 0 ? "/\(stream.copies)" : ""
        return Message(identifier: identifier(of: content) + copy, content: content)
    }

    private func pop(_ stream: SentStream) {
        if let event = stream.queue.popFirst() { finish(event) }
        stream.endGroup()
    }

    /// The same for the same bytes. Batches that were cut differently, after a loss of the spool, are never taken for repeats.
    private func identifier(of message: RelayedMessage) -> String {
        let stream = "\(settings.site)/\(message.name)"
        if let place = message.place { return "\(stream)/\(place.epoch)/\(place.from)+\(place.count)" }
        return "\(stream)/description/\(String(decoding: message.events[0].time, as: UTF8.self))"
    }

    /// Takes what became of messages.
    package func acknowledged(_ results: [(identifier: String, outcome: Outcome)], at now: Moment) {
        for (identifier, outcome) in results { acknowledged(identifier, outcome, at: now) }
        load()
        pump(at: now)
    }

    private func acknowledged(_ identifier: String, _ outcome: Outcome, at now: Moment) {
        guard let stream = underWay.removeValue(forKey: identifier) else { return }
        stream.isUnderWay = false
        switch outcome {
        case .stored(let isRepeat):
            if problem != nil || fullSince != nil {
                (problem, fullSince) = (nil, nil)
                watchServers(at: now)
            }
            if isRepeat { repeats += 1 }
            if isRepeat, stream.queue.first?.event.place != nil {
                // Servers before 2.11 also remember the identifier of a message that was lost with their leader
                // (nats-server#6486): what they have is seen from its last message alone.
                (stream.remote, stream.isInDoubt) = (.unknown, true)
                makeReady(stream)
            } else {
                noteStored(stream, at: now)
            }
        case .unknown(let reason):
            problem = reason
            // Servers forget which messages they have.
            let window = servers?.duplicateWindow ?? 0
            if let first = stream.firstSentAt, now.monotonic - first > window / 2 { stream.remote = .unknown }
            wait(stream, at: now)
        case .notStored(let reason):
            problem = reason
            makeStream(at: now)
            wait(stream, at: now)
        case .full(let reason):
            problem = reason
            if fullSince == nil {
                fullSince = now.monotonic
                watchServers(at: now)
            }
            wait(stream, at: now)
        }
    }

    private func noteStored(_ stream: SentStream, at now: Moment) {
        for _ in 0..<stream.groupCount {
            guard let event = stream.queue.popFirst() else { break }
            noteStored(event.event, of: stream, at: now)
            finish(event)
        }
        stream.endGroup()
        makeReady(stream)
    }

    private func noteStored(_ event: RelayedEvent, of stream: SentStream, at now: Moment) {
        if let place = event.place {
            samplesAcknowledged += place.count
            stream.remote = .known(place)
        }
        if let age = event.age(at: now.date) { delays.record(nanoseconds: age) }
    }

    /// Has a stream wait before it tries again: longer each time.
    private func wait(_ stream: SentStream, at now: Moment) {
        retries += 1
        let pause = min(Self.pauses.lowerBound << Int64(min(stream.failures, 10)), Self.pauses.upperBound)
        stream.failures += 1
        if stream.retryAt == nil { retrying.append(stream) }
        stream.retryAt = now.monotonic + pause
    }

    func retry(at now: Moment) {
        guard !retrying.isEmpty else { return }
        retrying.removeAll { stream in
            guard let instant = stream.retryAt, instant <= now.monotonic else { return false }
            stream.retryAt = nil
            if stream.queue.isEmpty { ask(stream) } else { makeReady(stream) }
            return true
        }
    }
}

/// Why something failed, as a sentence for people.
package struct SentenceError: Error, Hashable, Sendable {
    package let sentence: String

    package init(_ sentence: String) { self.sentence = sentence }
}
