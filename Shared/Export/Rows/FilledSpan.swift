/// Samples of a stream that follow on each other and were filled in after the session, from what a device had recorded itself.
package struct FilledSpan: Hashable, Sendable {
    package var epoch: String?
    /// The number of the first.
    package var from: Int
    /// How many they are.
    package var samples: Int
    /// How many samples of the stream there are up to the last of them.
    var end: Int
    /// The times of the first and the last, in nanoseconds since the session's start.
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
