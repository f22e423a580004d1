import Logging
import MessageBus
import Messages
import PublisherCore
import SampleSources
import Runtime
import ServiceKit
import ZeroMQ

/// Carries out the effects of `Publication`, each at once.
extension SamplingEngine {
    func carryOut(_ effect: Publication.Effect) {
        switch effect {
        case .read(let stream, let count):
            sources[stream.index]?.read(count, into: &rows)
            core.take(&rows, of: stream, at: runtime.now)
        case .rewind(let stream):
            do throws(PublisherError) {
                try sources[stream.index]?.rewind()
                core.rewound(stream, nil, at: runtime.now)
            } catch {
                core.rewound(stream, error, at: runtime.now)
            }
        case .publish(let batch, let stream, let clock):
            do {
                try publish(batch, of: stream, clock: clock)
            } catch {
                core.publishFailed(of: stream, error)
            }
        case .describe(let description, let stream):
            do {
                body.removeAll()
                description.encode(into: &body)
                try events.publish(topic: stream.descriptionTopic, body: body, packed: nil, at: runtime.now.date)
            } catch {
                runtime.logger.warning("description not published", metadata: [LogKey.error: "\(error)"])
            }
        case .answer(let request, let answer): questions[request]?.tell(answer)
        case .acknowledge(let request, let answer): pushes.removeValue(forKey: request)?.tell(answer)
        case .notice(let notice): runtime.tell(notice)
        case .finished: endContinuation.finish()
        }
    }

    private func publish(_ batch: RowBatch, of stream: PublishedStream, clock: ClockReading) throws {
        body.removeAll()
        let encoder = stream.encoder
        batch.rows.withUnsafeBufferPointer { rows in
            if let records = batch.records {
                encoder.encode(
                    sequence: Int(batch.firstSequence), clock: clock, uptimes: rows, values: records.all, into: &body)
            } else {
                encoder.encode(
                    sequence: Int(batch.firstSequence), count: batch.count, clock: clock, rows: rows, into: &body)
            }
        }
        guard stream.isPacked else {
            return try events.publish(topic: stream.topic, body: body, packed: nil, at: runtime.now.date)
        }
        if var packed = matrix.take() {
            packed.removeAll()
            batch.rows.withUnsafeBufferPointer { encoder.encodePacked($0, into: &packed) }
            matrix = consume packed
        }
        try events.publish(topic: stream.topic, body: body, packed: matrix, at: runtime.now.date)
    }
}
