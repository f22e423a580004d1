import Messages

/// A gap while samples for it come from the bus.
struct GapReplay {
    let place: NumberedGap
    var parts: GapParts
    /// Whether all came that belongs into it.
    private(set) var isComplete = false
    /// Whether the publisher has nothing behind what came.
    private(set) var hasEnded = false
    /// What was wrong with a batch.
    var fault: MessageError?

    init(_ place: NumberedGap) {
        self.place = place
        parts = GapParts(place.gap)
    }

    /// The sample that is to be asked for next.
    var next: Int { parts.next }

    /// Notes that the publisher has nothing from the next sample on.
    mutating func noteEnd() { hasEnded = true }

    /// Notes that a sample came that does not belong into it any more.
    mutating func noteComplete() { isComplete = true }
}
