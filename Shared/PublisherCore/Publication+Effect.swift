package import Messages
package import ServiceKit

extension Publication {
    /// Work that the caller carries out, at once and in this order. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect {
        // Sources

        /// Read the next rows of a stream's source: `take`.
        case read(PublishedStream, count: Int)
        /// Go back to the first sample of a stream's source: `rewound`.
        case rewind(PublishedStream)

        // Subscribers and clients

        /// Publish a batch that was complete at a time, with those of the same turn.
        case publish(RowBatch, of: PublishedStream, ClockReading)
        indirect case describe(StreamDescription, of: PublishedStream)
        indirect case answer(request: Int, Result<Answer, RequestError>)

        /// Answer a client that pushed something.
        indirect case acknowledge(request: Int, PushAnswer)

        // People

        indirect case notice(Notice)
        /// Everything that was sampled is published, and every stream has stopped.
        case finished
    }

    /// What a request is answered with.
    package enum Answer: Sendable {
        case streams([StreamDescription])
        case stream(StreamDescription)
    }
}
