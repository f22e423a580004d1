import HeapModule

/// Virtual time: events in order of their time; the seed determines the order of simultaneous ones.
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

    /// Schedules a closure for a time, or for now if that has passed.
    mutating func add(at time: Int64, order: UInt64, _ body: @escaping () throws -> Void) {
        count += 1
        events.insert(Event(time: max(now, time), order: order, number: count, body: body))
    }

    /// Advances to the next event; nil if there is none until the end.
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
