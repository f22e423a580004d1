package import Messages
package import ServiceKit

extension Publication {
    /// Work for the caller, to be carried out at once and in this order. Some cases name a method to call with the result.
    package enum Effect: CoreEffect {
        // Sources

        /// Read the next rows of a stream's source and pass them to `take`.
        case read(PublishedStream, count: Int)
        /// Rewind a stream's source to its first sample, then call `rewound`.
        case rewind(PublishedStream)

        // Subscribers and clients

        /// Publish a batch with this reading of the clocks. The batches of one turn are sent together.
        case publish(RowBatch, of: PublishedStream, ClockReading)
        indirect case describe(StreamDescription, of: PublishedStream)
        indirect case answer(request: Int, Result<Answer, RequestError>)

        /// Answer a client that pushed something.
        indirect case acknowledge(request: Int, PushAnswer)

        // Health, logs and the end

        indirect case notice(Notice)
        /// All samples are published, and every stream has stopped.
        case finished
    }

    package enum Answer: Sendable {
        case streams([StreamDescription])
        case stream(StreamDescription)
    }
}
