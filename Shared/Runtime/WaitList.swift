import ZeroMQ

/// Tasks of an engine that wait until its core says so: for a commit, or for the end of a session. Belongs to the engine's thread.
@usableFromInline
struct WaitList {
    private struct Wait {
        /// Whose tasks may wait together.
        let group: AnyHashable?
        /// On the monotonic clock.
        let deadline: Int64
        let isOver: () -> Bool
        /// Telling one ends the wait of its task.
        var tasks: [Wake<Void>]
    }

    private var waits: [Wait] = []

    var isEmpty: Bool { waits.isEmpty }

    /// When `resume` must be called at the latest, on the monotonic clock.
    @usableFromInline var nextDeadline: Int64 { waits.reduce(.max) { min($0, $1.deadline) } }

    /// Adds a task that waits.
    /// - Parameters:
    ///   - deadline: on the monotonic clock; the wait is over then.
    ///   - group: whose tasks wait together for the same thing, until the deadline of the first: thousands of waits would each
    ///     be looked at with every batch that arrives.
    /// - Returns: what is told when the wait is over.
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
