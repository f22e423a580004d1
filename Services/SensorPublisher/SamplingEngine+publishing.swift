import Logging
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What goes out: batches, descriptions, measures.
extension SamplingEngine {
    /// How long health tells of a batch that could not be published, and of a line that could not be read.
    static let failureLife = Duration.seconds(60)

    /// Publishes batches and keeps them.
    /// - Parameter takenAt: when they were taken from a schedule, to measure how late it is kept; nil where there is none.
    func publish(_ batches: [SampledBatch], of stream: PublishedStream, takenAt: Int64? = nil) {
        for batch in batches {
            let now = MonotonicClock.now
            let clock = ClockReading.now
            do {
                try publish(batch, of: stream, clock: clock)
            } catch {
                health.report(
                    .failing, "batches of \(stream.name) can't be published: \(error)",
                    for: "publishing \(stream.name)", lasting: Self.failureLife)
            }
            retention.insert(batch, of: stream.name, at: now)
            stream.nextSequence += batch.count
            samplesPublished += batch.count
            batchesPublished += 1
            if let takenAt { lateness.record(nanoseconds: batch.lateness + now - takenAt) }
        }
    }

    private func publish(_ batch: SampledBatch, of stream: PublishedStream, clock: ClockReading) throws {
        body.removeAll()
        batch.rows.withUnsafeBufferPointer { rows in
            stream.encoder.encode(
                sequence: Int(batch.firstSequence), count: batch.count, clock: clock, rows: rows, into: &body)
        }
        guard stream.isPacked else {
            return try events.publish(topic: stream.topic, body: body, packed: nil, at: clock.date)
        }
        if var packed = matrix.take() {
            packed.removeAll()
            batch.rows.withUnsafeBufferPointer { stream.encoder.encodePacked($0, into: &packed) }
            matrix = consume packed
        }
        try events.publish(topic: stream.topic, body: body, packed: matrix, at: clock.date)
    }

    /// Describes a stream at once if its state changed, and reports a failure and its end.
    /// - Parameter clock: what the description is to say of the clocks, whatever the state.
    func noteState(of stream: PublishedStream, clock: ClockReading? = nil) {
        let (before, state) = (stream.notedState, stream.state)
        stream.notedState = state
        if before != state || clock != nil { describe(stream, clock: clock) }
        guard before != state else { return }
        if let failure = stream.sampler.failure {
            health.report(.degraded, "\(stream.name) has failed: \(failure)", for: "stream \(stream.name)")
            logger.error("stream failed", metadata: ["stream": "\(stream.name)", LogKey.error: "\(failure)"])
        } else if before == .failed {
            health.clear("stream \(stream.name)")
            logger.notice("stream recovered", metadata: ["stream": "\(stream.name)"])
        }
    }

    /// Publishes a stream's description, with the clocks as they are now or as they were at another instant.
    func describe(_ stream: PublishedStream, clock: ClockReading? = nil) {
        guard stream.isKnown else { return }
        do {
            body.removeAll()
            description(of: stream, clock: clock).encode(into: &body)
            try events.publish(topic: stream.descriptionTopic, body: body, packed: nil, at: .now)
            stream.descriptions += 1
        } catch {
            logger.warning("description not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// What a stream is now.
    func description(of stream: PublishedStream, clock: ClockReading? = nil) -> StreamDescription {
        stream.description(
            replay: replayEndpoint, clock: clock ?? reading, retention: retention.span(at: MonotonicClock.now))
    }

    /// All clocks now.
    private var reading: ClockReading {
        var clock = ClockReading.now
        clock.elapsed = clock.uptime + Nanoseconds.seconds(sleepWatch.elapsed(at: 0))
        return clock
    }

    /// All clocks at this instant.
    func reading(at now: Int64) -> ClockReading {
        ClockReading(
            uptime: Nanoseconds.seconds(now), date: .now, elapsed: Nanoseconds.seconds(sleepWatch.elapsed(at: now)))
    }

    /// Puts what was measured where `service.health` finds it.
    func measure() {
        if lateness.count > 0 {
            health.measure("latenessMedianSeconds", Nanoseconds.seconds(lateness.median))
            health.measure("lateness99PercentSeconds", Nanoseconds.seconds(lateness.percentile99))
            health.measure("latenessMaximumSeconds", Nanoseconds.seconds(lateness.maximum))
        }
        let now = MonotonicClock.now
        for stream in streams {
            let behind = secondsBehind(stream, at: now)
            if behind > 1 {
                stream.isBehind = true
                health.report(
                    .degraded,
                    "\(stream.name) is \(Int(behind)) s behind its schedule: ask for a lower rate or speed, or larger batches",
                    for: "schedule \(stream.name)")
            } else if stream.isBehind {
                stream.isBehind = false
                health.clear("schedule \(stream.name)")
            }
        }
        health.measure("samplesPublished", Double(samplesPublished))
        health.measure("batchesPublished", Double(batchesPublished))
        health.measure("retainedBytes", Double(retention.bytes))
        let connections = events.connectionEvents
        health.measure("connectionsAccepted", Double(connections.accepted))
        health.measure("connectionsEnded", Double(connections.disconnected))
    }
}
