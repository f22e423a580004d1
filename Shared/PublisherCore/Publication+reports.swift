import Logging
import Messages
import SampleSources
import ServiceKit

/// Output: batches, descriptions, health reports and log entries.
extension Publication {
    /// How long health shows a report of unreadable lines, of messages that were not taken, or of dropped datagrams.
    static let failureLife = Duration.seconds(60)
    /// The number of streams described in one turn, so that descriptions delay no samples.
    private static let descriptionsPerTurn = 50

    /// Publishes a batch and retains it, in several messages if one would be too large.
    /// - Parameter takenAt: when a scheduled batch was taken, to measure its lateness; nil for a batch without a schedule.
    func publish(_ batch: RowBatch, of stream: PublishedStream, at now: Moment, takenAt: Int64? = nil) {
        guard batch.count > stream.largestBatch else {
            return publishMessage(batch, of: stream, at: now, takenAt: takenAt)
        }
        for piece in batch.pieces(of: stream.largestBatch) {
            publishMessage(piece, of: stream, at: now, takenAt: takenAt)
        }
    }

    private func publishMessage(_ batch: RowBatch, of stream: PublishedStream, at now: Moment, takenAt: Int64?) {
        let clock = ClockReading(uptime: Nanoseconds.seconds(now.monotonic), date: now.date)
        let rows = batch.rows[...]
        emit(.publish(batch, of: stream, sleepWatch.reading(of: rows, count: batch.count, at: clock)))
        let difference = sleepWatch.difference(at: rows, count: batch.count)
        retention.insert(batch, of: stream.place, at: now.monotonic, clockDifference: difference)
        stream.nextSequence += batch.count
        samplesPublished += batch.count
        batchesPublished += 1
        if let takenAt { lateness.record(nanoseconds: batch.lateness + now.monotonic - takenAt) }
    }

    /// Describes a stream at once if its state changed, reports failures and recoveries, and logs the end of a source.
    /// - Parameters:
    ///   - clock: if given, the stream is described in any case, with this reading of the clocks.
    ///   - isOver: whether this is the stream's last description, because the program ends.
    func noteState(
        of stream: PublishedStream, at now: Moment, describing clock: ClockReading? = nil, isOver: Bool = false
    ) {
        let (before, state) = (stream.notedState, stream.state)
        stream.notedState = state
        if before != state || clock != nil { describe(stream, clock ?? reading(at: now), isOver: isOver) }
        guard before != state else { return }
        if let failure = stream.sampler.failure {
            emit(.report(.degraded, "\(stream.name) has failed: \(failure)", for: stream.healthKey))
            emit(.log(.error, "stream failed", ["stream": "\(stream.name)", LogKey.error: "\(failure)"]))
        } else if before == .failed {
            emit(.clear(stream.healthKey))
            emit(.log(.notice, "stream recovered", ["stream": "\(stream.name)"]))
        }
        if state == .ended {
            emit(.log(.notice, "stream ended", ["stream": "\(stream.name)", "samples": "\(stream.nextSequence)"]))
        }
    }

    /// Publishes a stream's description.
    func describe(_ stream: PublishedStream, _ clock: ClockReading, isOver: Bool = false) {
        guard stream.isKnown else { return }
        var description = description(of: stream, clock)
        if isOver { description.over = true }
        emit(.describe(description, of: stream))
        stream.descriptions += 1
    }

    func description(of stream: PublishedStream, _ clock: ClockReading) -> StreamDescription {
        let now = Nanoseconds.from(seconds: clock.uptime) ?? 0
        let sampler = stream.sampler
        return StreamDescription(
            source: Self.source, sequence: stream.descriptions, device: stream.name.device, stream: stream.name.stream,
            epoch: stream.epoch, state: stream.state, fields: sampler.fields, types: sampler.types, unit: sampler.unit,
            rate: sampler.rate,
            packed: stream.isPacked, nextSequence: stream.nextSequence, replay: replayEndpoint, clock: clock,
            description: sampler.description, truth: sampler.truth, reason: sampler.failure?.message,
            lastSample: sampler.lastSample(at: now).map(Nanoseconds.seconds), retention: retention.span(at: now),
            origin: stream.origin, remoteClock: sampler.remoteClock,
            first: stream.epochFirst > 0 ? stream.epochFirst : nil)
    }

    // MARK: Each second

    private var descriptionTurns: Int {
        max(1, (streams.count + Self.descriptionsPerTurn - 1) / Self.descriptionsPerTurn)
    }

    /// The descriptions of many streams are spread over the second.
    var descriptionInterval: Int64 { Nanoseconds.perSecond / Int64(descriptionTurns) }

    /// Describes the streams of this turn and, once a second, does the periodic work.
    func describeSome(at now: Moment) {
        let first = min(descriptionTurn * Self.descriptionsPerTurn, streams.count)
        let clock = reading(at: now)
        for stream in streams[first..<min(first + Self.descriptionsPerTurn, streams.count)] {
            describe(stream, clock)
        }
        // Late turns follow at once, so that no stream is left out. After a long pause, at most one second is made up for.
        describeAt = max(describeAt + descriptionInterval, now.monotonic - Nanoseconds.perSecond)
        descriptionTurn = (descriptionTurn + 1) % descriptionTurns
        guard descriptionTurn == 0 else { return }
        retention.expire(at: now.monotonic)
        endSilentPushes(at: now)
        reportDatagrams()
        reportBehind(at: now)
        logMalformedLines()
    }

    private func reportBehind(at now: Moment) {
        for stream in streams {
            let behind = stream.behind(at: now.monotonic)
            if behind > Nanoseconds.perSecond {
                stream.isBehind = true
                emit(
                    .report(
                        .degraded,
                        "\(stream.name) is \(behind / Nanoseconds.perSecond) s behind its schedule: ask for a lower rate or speed, or larger batches",
                        for: "schedule \(stream.name)"))
            } else if stream.isBehind {
                stream.isBehind = false
                emit(.clear("schedule \(stream.name)"))
            }
        }
    }
}

extension PublishedStream {
    /// The key of the stream's failures in health.
    var healthKey: String { "stream \(name)" }
}
