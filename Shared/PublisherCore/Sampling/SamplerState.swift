/// The state of a stream: it runs from a start until it is stopped or its source ends, and may then be started again.
package enum SamplerState: String, Hashable, Sendable {
    case idle
    case running
    /// The source has no more samples, or failed.
    case ended
    /// Stopped on request.
    case stopped
}
