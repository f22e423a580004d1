package import Messages

/// The range of a stream's samples that a batch contains.
package struct BatchPlace: Hashable, Sendable {
    package let epoch: String
    /// The sequence number of the first sample.
    package let from: Int
    package let count: Int

    package init(epoch: String, from: Int, count: Int) {
        self.epoch = epoch
        self.from = from
        self.count = count
    }

    /// One past the last sample.
    package var end: Int { from + count }

    package init(of body: SampleBody, in frame: UnsafeRawBufferPointer) {
        self.init(epoch: SampleBody.string(at: body.epoch, in: frame), from: body.sequence, count: body.count)
    }
}
