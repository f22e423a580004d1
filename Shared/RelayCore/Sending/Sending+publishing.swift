import DequeModule
import Logging
import MessageBus
package import Messages
import ServiceKit

/// Publishing to the servers, and handling their replies.
extension Sending {
    /// The maximum number of batches in a message.
    private static let largestGroup = 1_000
    private static let tooLarge = Gap.Reason(rawValue: "tooLarge")
    /// How long health reports what the servers refused. An unchanged description is sent again within this time.
    private static let refusalLife = Duration.seconds(60)
    private static let pauses: ClosedRange<Int64> = 100_000_000...2_000_000_000
    /// How long the library may take to report on a message, in nanoseconds. It should report within 3 s.
    private static let reportLimit: Int64 = 10_000_000_000

    // MARK: Connection

    /// Notes whether the servers are connected.
    /// - Parameter reason: why they are not connected.
    package func noteConnected(_ isConnected: Bool, _ reason: String?, at now: Moment) {
        self.isConnected = isConnected
        problem = isConnected ? nil : reason
        if isConnected {
            prepareAt = now.monotonic
            // Retries at once: the waiting messages were refused by a server that was unavailable.
            for stream in retrying { stream.retryAt = now.monotonic }
        }
        watchServers(at: now)
        prepare(at: now)
        retry(at: now)
        pump(at: now)
    }

    /// Treats all pending messages as unknown: the library gave up the connection and will not report on them.
    package func noteGivenUp(at now: Moment) {
        isConnected = false
        acknowledged(underWay.keys.map { ($0, .unknown("the connection has ended")) }, at: now)
    }

    /// Treats pending messages as unknown if the library has not reported on them in time. Its own limit depends on this
    /// machine's date: if the date is set back, it waits for that much longer.
    func endWaits(at now: Moment) {
        guard isConnected else { return }
        // Messages that the library has not taken yet would only be handed to it again.
        let late = underWay.filter { _, stream in
            stream.sentAt.map { now.monotonic - $0 >= Self.reportLimit } ?? false
        }.keys.sorted()
        if !late.isEmpty { acknowledged(late.map { ($0, .unknown("no answer in time")) }, at: now) }
    }

    func prepare(at now: Moment) {
        if servers == nil { makeStream(at: now) }
    }

    /// Requests that the stream is created if it is missing. It may have been deleted, or lost with the servers' disks, after it
    /// was prepared. The servers' errors are then the same as without a leader, so only inspecting the stream distinguishes the
    /// two cases. Waiting messages are sent again meanwhile.
    private func makeStream(at now: Moment) {
        guard isConnected, !isPreparing, now.monotonic >= prepareAt else { return }
        isPreparing = true
        emit(.prepare)
    }

    package func prepared(_ result: Result<Servers, SentenceError>, at now: Moment) {
        isPreparing = false
        prepareAt = now.monotonic + Self.pauses.upperBound
        switch result {
        case .success(let servers): notePrepared(servers)
        case .failure(let error):
            // Without a leader, messages may be stored again before this reply arrives. Then the error is out of date.
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
                .warning, "the stream in NATS was deleted and created again",
                ["servers": "\(settings.servers)"]))
        // The recreated stream has no descriptions.
        for stream in streams { stream.described = nil }
    }

    // MARK: The servers' contents

    func ask(_ stream: SentStream) {
        guard isConnected, servers != nil, stream.remote == .unknown else { return }
        stream.remote = .asking
        emit(.ask(stream.name, description: stream.leftDescriptions == .unknown))
    }

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

    /// Resolves a duplicate report: if the servers do not have the message, it is sent under another identifier.
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

    /// Publishes all messages that may be published now, in one burst.
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
        // After the duplicate window, servers no longer recognize the message.
        let window = servers?.duplicateWindow ?? 0
        if case .known = stream.remote, let first = stream.firstSentAt, now.elapsed - first > window / 2 {
            (stream.remote, stream.firstSentAt) = (.unknown, nil)
        }
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
        // Descriptions are ordered: the servers lack everything after the first description that they lack.
        if stream.leftDescriptions != .unknown { stream.leftDescriptions = .none }
        (stream.isUnderWay, stream.sentAt) = (true, nil)
        if stream.firstSentAt == nil { stream.firstSentAt = now.elapsed }
        underWay[message.identifier] = stream
        return message
    }

    private func isStored(_ event: SpooledEvent) -> Bool {
        if let place = event.event.place { return event.stream.hasStored(place) }
        guard event.position < leftEnd, case .known(let last?) = event.stream.leftDescriptions,
            let time = event.event.publishedAt
        else { return false }
        return time <= last
    }

    /// Combines the first waiting events into one message: consecutive batches, or one description.
    private func message(of stream: SentStream) -> Message? {
        var events: [RelayedEvent] = []
        var bytes = 0
        for waiting in stream.queue {
            let event = waiting.event
            if stream.groupCount > 0 {
                if events.count == stream.groupCount { break }
            } else if let last = events.last {
                guard let end = last.place, let next = event.place, next.epoch == end.epoch, next.from == end.end,
                    events.count < Self.largestGroup, bytes + event.byteCount <= largestMessage
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

    /// Identical for identical bytes. Batches that were cut differently, after a loss of the spool, are not mistaken for
    /// duplicates.
    private func identifier(of message: RelayedMessage) -> String {
        let stream = "\(settings.site)/\(message.name)"
        if let place = message.place { return "\(stream)/\(place.epoch)/\(place.from)+\(place.count)" }
        return "\(stream)/description/\(String(decoding: message.events[0].time, as: UTF8.self))"
    }

    /// Takes the end of `publish`.
    /// - Parameter failed: the messages that were not sent.
    package func handedOver(
        _ messages: [Message], failed: [(identifier: String, outcome: Outcome)] = [], at now: Moment
    ) {
        for message in messages { underWay[message.identifier]?.sentAt = now.monotonic }
        if !failed.isEmpty { acknowledged(failed, at: now) }
    }

    /// Takes the results of published messages.
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
                // (nats-server#6486). Only their last message shows what they have.
                (stream.remote, stream.isInDoubt) = (.unknown, true)
                makeReady(stream)
            } else {
                noteStored(stream, at: now)
            }
        case .unknown(let reason):
            problem = reason
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
        case .tooLarge(let reason): noteTooLarge(stream, because: reason)
        }
    }

    /// Sends a message that is too large in smaller pieces. A single sample that is too large is lost: servers would refuse it
    /// each time, and nothing after it would leave the spool.
    private func noteTooLarge(_ stream: SentStream, because reason: String) {
        let size = stream.queue.prefix(stream.groupCount).reduce(0) { $0 + $1.event.byteCount }
        largestMessage = min(largestMessage, size / 2)
        if stream.groupCount == 1, let first = stream.queue.first, !cut(first) {
            noteRefusal(of: first.event, in: stream, because: reason)
            pop(stream)
        }
        stream.endGroup()
        // Another server may have stored the message, and differently cut pieces are not detected as duplicates.
        stream.remote = .unknown
        makeReady(stream)
    }

    /// Notes that a sample or description is lost because it is too large.
    private func noteRefusal(of event: RelayedEvent, in stream: SentStream, because reason: String) {
        emit(
            .report(
                .degraded,
                "a message of \(stream.name) is larger than NATS accepts (\(reason)): it is lost; raise max_payload of the "
                    + "servers, or the stream's limit (nats stream edit --max-msg-size)",
                for: "refused", lasting: Self.refusalLife))
        if let place = event.place {
            noteLoss(of: stream, from: place.from, count: place.count, Self.tooLarge)
        } else {
            emit(.lost)
            emit(
                .log(
                    .warning, "a description is lost",
                    ["stream": "\(stream.name)", "reason": "\(Self.tooLarge.rawValue)"]))
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

    /// Delays a stream's next attempt, longer after each failure.
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

/// A reason for a failure, as a sentence for display.
package struct SentenceError: Error, Hashable, Sendable {
    package let sentence: String

    package init(_ sentence: String) { self.sentence = sentence }
}
