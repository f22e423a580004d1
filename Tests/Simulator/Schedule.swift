import HeapModule

/// Virtual time: what happens next, in the order of its time, and of events of the same time in an order that the seed decides.
struct Schedule {
    private struct Event: Comparable {
        let time: Int64
        let order: UInt64
        let number: Int
        let body: () throws -> Void

        static func == (left: Event, right: Event) -> Bool { left.number == right.number }

        static func < (left: Event, right: Event) -> Bool {
            (left.time, left.order, left.number) < (right.time, right.order, right.number)
        }
    }

    /// Nanoseconds since the run's start.
    private(set) var now: Int64 = 0
    private var events = Heap<Event>()
    private var count = 0

    /// Has something happen at a time, or now if that has passed.
    mutating func add(at time: Int64, order: UInt64, _ body: @escaping () throws -> Void) {
        count += 1
        events.insert(Event(time: max(now, time), order: order, number: count, body: body))
    }

    /// Moves on to the next event; nil if there is none until the end.
    mutating func next(until end: Int64) -> (() throws -> Void)? {
        guard let event = events.min, event.time <= end else {
            now = max(now, end)
            return nil
        }
        events.removeMin()
        now = event.time
        return event.body
    }
}
