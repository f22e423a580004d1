package import SampleSources

/// What a client pushed.
package enum PushMessage: Sendable {
    case numbered(NumberedSamples)
    case sensorLogger(SensorLoggerMessage)
    case unnumbered(UnnumberedSamples)
}

/// What a client is answered.
package enum PushAnswer: Hashable, Sendable {
    /// Everything was published and is kept for replay, now or by an earlier message.
    /// - Parameter next: the number that is expected next, of clients that number their samples.
    case accepted(next: Int?)
    /// The same, and the recorder can't store it: a sentence for the person who carries the device.
    case unstored(String)
    /// Nothing was taken: the client is to go on with this number.
    case wanted(next: Int)
    case refused(PushRefusal)
}

/// Why nothing was taken.
package struct PushRefusal: Error, Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// It makes no sense, and would not the next time.
        case invalid = "invalidParams"
        /// It belongs to what is over.
        case tooLate
        /// Somebody else has the stream's name, or stopped the stream.
        case conflict
        case tooMany
        case stopping
    }

    package let kind: Kind
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
