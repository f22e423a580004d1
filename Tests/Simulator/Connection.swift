/// A subscriber's connection to a publisher: messages arrive in order and late, and not at all while it is cut.
struct Connection {
    /// Nothing arrives, in either direction.
    var isCut = false
    /// Until this time samples are dropped, as above a high-water mark.
    var dropsUntil: Int64 = 0
    /// When the connection is established again after a program's start.
    var standsFrom: Int64 = 0
    /// Until this time the reader takes nothing: arriving messages wait, up to a limit.
    var heldUntil: Int64 = 0
    /// The arrival time of the last message sent.
    private var lastArrival: Int64 = 0

    func isOpen(at now: Int64) -> Bool { !isCut && now >= standsFrom }

    /// Whether samples sent now arrive.
    func delivers(at now: Int64) -> Bool { isOpen(at: now) && now >= dropsUntil }

    /// Whether samples sent now are processed at once.
    func isHeard(at now: Int64) -> Bool { delivers(at: now) && now >= heldUntil }

    /// The arrival time of a message sent now; earlier messages arrive before it.
    mutating func arrival(sentAt now: Int64, delay: Int64) -> Int64 {
        lastArrival = max(lastArrival, now + delay, heldUntil)
        return lastArrival
    }
}
