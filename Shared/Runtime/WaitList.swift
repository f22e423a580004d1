import ZeroMQ

/// Tasks of an engine that wait for a condition of its core, such as a commit or the end of a session. Belongs to the engine's
/// thread.
@usableFromInline
struct WaitList {
    private struct Wait {
        /// Identifies tasks that wait together.
        let group: AnyHashable?
        /// On the monotonic clock.
        let deadline: Int64
        let isOver: () -> Bool
        /// Each ends the wait of its task.
        var tasks: [Wake<Void>]
    }

    private var waits: [Wait] = []

    var isEmpty: Bool { waits.isEmpty }

    /// The latest time for the next call of `resume`, on the monotonic clock.
    @usableFromInline var nextDeadline: Int64 { waits.reduce(.max) { min($0, $1.deadline) } }

    /// Adds a waiting task.
    /// - Parameters:
    ///   - deadline: the end of the wait, on the monotonic clock.
    ///   - group: tasks of the same group wait together for the same condition, until the deadline of the first: otherwise
    ///     thousands of conditions would be checked with every batch that arrives.
    /// - Returns: a `Wake` that is signalled when the wait is over.
    mutating func add(
        until deadline: Int64, group: AnyHashable?, for isOver: @escaping () -> Bool
    ) -> Wake<Void> {
        let over = Wake<Void>()
        if let group, let index = waits.firstIndex(where: { $0.group == group }) {
            waits[index].tasks.append(over)
        } else {
            waits.append(Wait(group: group, deadline: deadline, isOver: isOver, tasks: [over]))
        }
        return over
    }

    /// Ends the waits that are over.
    mutating func resume(at now: Int64) {
        waits.removeAll { wait in
            guard now >= wait.deadline || wait.isOver() else { return false }
            for task in wait.tasks { task.tell(()) }
            return true
        }
    }
}
