/// Where a stream is: it runs from a start until it is stopped or its source ends, and may then be started again.
package enum SamplerState: String, Hashable, Sendable {
    /// Not started yet.
    case idle
    /// Sampling.
    case running
    /// The source had no more samples, or failed.
    case ended
    /// Stopped on request.
    case stopped
}
