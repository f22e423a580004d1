import HeapModule

/// When each stream is due next: one queue, and so one wait, for all streams.
///
/// A heap, because a stream is inserted again each time it is taken. There is no search: an obsolete entry stays until its
/// deadline, and the caller that takes it recognises it then.
package struct StreamSchedule {
    /// A stream's next time. Earlier ones come first.
    package struct Entry: Hashable, Comparable, Sendable {
        /// Nanoseconds of a monotonic clock.
        package let deadline: Int64
        /// The stream's place in the list of all streams.
        package let stream: Int

        package init(deadline: Int64, stream: Int) {
            self.deadline = deadline
            self.stream = stream
        }

        package static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline, left.stream) < (right.deadline, right.stream)
        }
    }

    private var heap = Heap<Entry>()

    package init() {}

    /// The earliest deadline.
    package var next: Int64? { heap.min?.deadline }

    package mutating func insert(_ entry: Entry) { heap.insert(entry) }

    /// Moves all entries whose deadline has come to the end of `due`, the earliest first.
    package mutating func takeDue(at now: Int64, into due: inout [Entry]) {
        while let next, next <= now { due.append(heap.removeMin()) }
    }
}
