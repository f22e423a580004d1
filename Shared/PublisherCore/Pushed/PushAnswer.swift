package import SampleSources

/// A message pushed by a client.
package enum PushMessage: Sendable {
    case numbered(NumberedSamples)
    case sensorLogger(SensorLoggerMessage)
    case unnumbered(UnnumberedSamples)
}

/// The answer to a pushed message.
package enum PushAnswer: Hashable, Sendable {
    /// All samples were published and are retained for replay, now or by an earlier message.
    /// - Parameter next: the sample number expected next, for clients that number their samples.
    case accepted(next: Int?)
    /// Accepted, but the recorder cannot store the samples. The sentence is for the person who carries the device.
    case unstored(String)
    /// Nothing was taken: the client must continue with this sample number.
    case wanted(next: Int)
    case refused(PushRefusal)
}

package struct PushRefusal: Error, Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// The message is malformed, and would be refused again.
        case invalid = "invalidParams"
        /// The message belongs to an epoch or a range that is over.
        case tooLate
        /// The stream's name belongs to another client or the configuration, or the stream was stopped by a request.
        case conflict
        case tooMany
        case stopping
    }

    package let kind: Kind
    package let message: String
    /// The first number to send, if that is known.
    package let next: Int?

    package init(_ kind: Kind, _ message: String, next: Int? = nil) {
        self.kind = kind
        self.message = message
        self.next = next
    }
}
