package import Files
import DequeModule
import Logging
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// The spool: events are durable before they are sent, and are removed when they are acknowledged.
extension Sending {
    /// A block above this size, in bytes, is stored without waiting for the commit interval.
    private static let largestBlock = 4 << 20
    /// How long nothing is taken after a failed write to the spool, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    /// Unacknowledged bytes in the spool, including bytes that are not written yet.
    package var spoolBytes: Int {
        let undone = undone
        let unused = holes.reduce(0) { $0 + max(0, $1.upperBound - max($1.lowerBound, undone)) }
        return storedEnd - undone - unused + appender.count
    }

    /// Whether the spool has reached its size limit.
    package var isFull: Bool { spoolBytes >= settings.spoolLimit }

    /// Whether too many events wait in memory, because the disk is slow or hangs.
    var isBehind: Bool { appender.count >= settings.backlogBytes }

    /// The position before which everything is acknowledged.
    private var undone: Int { waiting.first?.position ?? unread ?? storedEnd }

    // MARK: Writing

    func collect(_ event: RelayedEvent, of stream: SentStream, at now: Moment) {
        Array(event.topic.utf8).withUnsafeBytes { topic in
            event.body.withUnsafeBytes { body in
                event.time.withUnsafeBytes { time in
                    event.packed.withOptionalBytes {
                        appender.append(eventAt: topic, body: body, time: time, packed: $0)
                    }
                }
            }
        }
        collected.append(SpooledEvent(event, of: stream, at: appender.position))
        if storeAt == .max { storeAt = now.monotonic + settings.interval }
        if appender.count > Self.largestBlock { store() }
    }

    /// Stores the collected events, unless another block is being stored.
    func store() {
        guard storing == nil, let block = appender.takeBlock() else { return }
        storing = collected
        collected = []
        storeAt = .max
        emit(.store(block))
    }

    /// - Parameter error: nil if the block is durable.
    package func stored(_ block: LogBlock, _ error: RecordingError?, at now: Moment) {
        let events = storing ?? []
        storing = nil
        if let error {
            forget(events + collected, because: error, at: now)
        } else {
            if isFailing {
                isFailing = false
                emit(.clear("spool"))
            }
            if block.position > storedEnd { holes.append(storedEnd..<block.position) }
            storedEnd = block.end
            if unread == nil, waitingBytes < settings.windowBytes {
                for event in events { enqueue(event) }
            } else if unread == nil {
                unread = block.position
            }
            if !collected.isEmpty, isStopping { store() }
        }
        load()
        pump(at: now)
    }

    /// Forgets events that could not be written: the publishers still have their samples.
    private func forget(_ events: [SpooledEvent], because error: RecordingError, at now: Moment) {
        collected = []
        storeAt = .max
        _ = appender.takeBlock()
        appender.beginSegment()
        blockedUntil = now.monotonic + Self.pause
        isFailing = true
        emit(
            .failing(
                "the spool can't be written: \(error); nothing is taken from publishers until it can", for: "spool"))
        var forgotten: [StreamName: Range<Int>] = [:]
        for event in events {
            event.stream.described = nil
            guard let place = event.event.place else { continue }
            guard place.epoch == event.stream.ordered.epoch else {
                // A run that has ended is not replayed.
                noteLoss(of: event.stream, from: place.from, count: place.count, .epochEnded)
                continue
            }
            let range = forgotten[event.stream.name] ?? place.from..<place.end
            forgotten[event.stream.name] = min(range.lowerBound, place.from)..<max(range.upperBound, place.end)
        }
        for (name, range) in forgotten {
            guard let stream = byName[name] else { continue }
            stream.ordered.buffer = ReorderBuffer()
            stream.ordered.account()
            stream.start(at: range.lowerBound)
            passOver(range.upperBound, of: stream)
        }
    }

    /// Takes samples again after `blockedUntil`, to try whether the spool can be written.
    func unblock(at now: Moment) {
        if now.monotonic >= blockedUntil { blockedUntil = .min }
    }

    // MARK: Reading

    /// Requests events that are not in memory, if there is room for them.
    func load() {
        guard let start = unread, !isLoading, waitingBytes < settings.windowBytes / 2 else { return }
        guard start < storedEnd else {
            unread = nil
            return
        }
        isLoading = true
        emit(.load(from: start, upTo: storedEnd, limit: settings.loadBytes))
    }

    /// Takes the result of `load`.
    /// - Parameters:
    ///   - events: each with the position of its block.
    ///   - next: the position after these events.
    package func loaded(_ events: [(event: RelayedEvent, position: Int)], next: Int, at now: Moment) {
        isLoading = false
        emit(.clear("spool-reading"))
        for (event, position) in events {
            guard let stream = byName[event.name] else { continue }
            enqueue(SpooledEvent(event, of: stream, at: position))
        }
        unread = next < storedEnd ? next : nil
        load()
        pump(at: now)
    }

    /// Takes a failure of `load`, which is tried again.
    package func notLoaded(_ error: RecordingError) {
        isLoading = false
        emit(.failing("the spool can't be read: \(error)", for: "spool-reading"))
    }

    private func enqueue(_ event: SpooledEvent) {
        for piece in event.pieces(of: largestMessage) {
            waiting.append(piece)
            waitingBytes += piece.event.byteCount
            event.stream.queue.append(piece)
        }
        makeReady(event.stream)
    }

    /// Replaces the first event of a stream with smaller ones.
    /// - Returns: whether the event could be cut.
    func cut(_ event: SpooledEvent) -> Bool {
        let pieces = event.pieces(of: largestMessage)
        guard pieces.count > 1, let index = waiting.firstIndex(where: { $0 === event }) else { return false }
        waiting.replaceSubrange(index..<index + 1, with: pieces)
        waitingBytes += pieces.reduce(-event.event.byteCount) { $0 + $1.event.byteCount }
        event.stream.queue.replaceSubrange(0..<1, with: pieces)
        return true
    }

    // MARK: Deleting

    /// Notes that an event is acknowledged, was stored before, or is given up. Limits the finished events kept after an
    /// unfinished one.
    func finish(_ event: SpooledEvent) {
        event.isDone = true
        waitingBytes -= event.event.byteCount
        finishedBytes += event.event.byteCount
        while let first = waiting.first, first.isDone {
            finishedBytes -= first.event.byteCount
            waiting.removeFirst()
        }
        if finishedBytes > settings.windowBytes / 2 {
            waiting.removeAll(where: { $0.isDone })
            finishedBytes = 0
        }
    }

    func trim() {
        let position = undone
        guard position > trimmed else { return }
        trimmed = position
        holes.removeAll { $0.upperBound <= position }
        emit(.trim(before: position, current: appender.segment))
    }
}
