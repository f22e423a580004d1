/// Consecutive samples of a stream that were filled in after the session, from a device's own recording.
package struct FilledSpan: Hashable, Sendable {
    package var epoch: String?
    /// The number of the first sample.
    package var from: Int
    package var samples: Int
    /// The number of the stream's samples up to and including the last one of this span.
    var end: Int
    /// The times of the first and the last sample, in nanoseconds since the session's start.
    package var first: Int64?
    package var last: Int64?

    package init(epoch: String?, from: Int, samples: Int, end: Int, first: Int64?, last: Int64?) {
        self.epoch = epoch
        self.from = from
        self.samples = samples
        self.end = end
        self.first = first
        self.last = last
    }
}
