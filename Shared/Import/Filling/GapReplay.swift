import Messages

/// A gap while samples for it arrive from the bus.
struct GapReplay {
    let place: NumberedGap
    var parts: GapParts
    /// Whether all samples of the gap were received.
    private(set) var isComplete = false
    /// Whether the publisher has no samples after those received.
    private(set) var hasEnded = false
    /// The error of an unusable batch.
    var fault: MessageError?

    init(_ place: NumberedGap) {
        self.place = place
        parts = GapParts(place.gap)
    }

    /// The number of the next sample to request.
    var next: Int { parts.next }

    /// Notes that the publisher has no samples from `next` on.
    mutating func noteEnd() { hasEnded = true }

    /// Notes that a sample after the gap was received.
    mutating func noteComplete() { isComplete = true }
}
