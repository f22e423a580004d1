import MessageBus
import Messages
import PublisherCore
import SampleSources
import Runtime
import ServiceKit
import ZeroMQ

/// Carries out each effect of `Publication` at once.
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
        case .publish(let batch, let stream, let clock): append(batch, of: stream, clock: clock)
        case .describe(let description, let stream):
            body.removeAll()
            description.encode(into: &body)
            runtime.outgoing.append(topic: stream.descriptionTopic, body: body, packed: nil, at: runtime.date)
        case .answer(let request, let answer): questions[request]?.tell(answer)
        case .acknowledge(let request, let answer): pushes.removeValue(forKey: request)?.tell(answer)
        case .notice(let notice): runtime.tell(notice)
        case .finished: endContinuation.finish()
        }
    }

    private func append(_ batch: RowBatch, of stream: PublishedStream, clock: ClockReading) {
        body.removeAll()
        stream.encode(batch, clock: clock, into: &body)
        if stream.isPacked, var packed = matrix.take() {
            packed.removeAll()
            stream.encodePacked(batch, into: &packed)
            matrix = consume packed
            runtime.outgoing.append(topic: stream.topic, body: body, packed: matrix, at: runtime.date)
        } else {
            runtime.outgoing.append(topic: stream.topic, body: body, packed: nil, at: runtime.date)
        }
    }
}
