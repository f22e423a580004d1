/// What a subscriber hears of a publisher: in order, late, and not at all while nothing connects them.
struct Connection {
    /// Nothing arrives, in either direction.
    var isCut = false
    /// Samples are dropped, as over a high-water mark.
    var dropsUntil: Int64 = 0
    /// When it stands again after a program's start.
    var standsFrom: Int64 = 0
    /// Until when a reader takes nothing: what arrives meanwhile waits, up to a bound.
    var heldUntil: Int64 = 0
    /// When what was sent last arrives.
    private var lastArrival: Int64 = 0

    func isOpen(at now: Int64) -> Bool { !isCut && now >= standsFrom }

    /// Whether samples that are sent now arrive.
    func delivers(at now: Int64) -> Bool { isOpen(at: now) && now >= dropsUntil }

    /// Whether samples that are sent now are taken at once.
    func isHeard(at now: Int64) -> Bool { delivers(at: now) && now >= heldUntil }

    /// When something that is sent now arrives; what was sent before arrives before.
    mutating func arrival(sentAt now: Int64, delay: Int64) -> Int64 {
        lastArrival = max(lastArrival, now + delay, heldUntil)
        return lastArrival
    }
}
