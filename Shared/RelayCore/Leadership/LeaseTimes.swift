/// The durations of a lease, all derived from the time that candidates wait for a silent holder. In nanoseconds.
package struct LeaseTimes: Hashable, Sendable {
    /// How long a candidate must see an unchanged lease, on its own clock, before it may take the lease.
    package let patience: Int64

    /// - Parameter patience: nanoseconds, greater than 0.
    package init(patience: Int64) {
        precondition(patience > 0, "a lease lasts some time")
        self.patience = patience
    }

    /// The interval between renewals by the holder.
    package var renewal: Int64 { patience / 9 }
    /// The interval between reads by a candidate.
    package var look: Int64 { patience / 20 }
    /// The timeout for a reply of the servers, which do not reply while they elect a leader.
    package var answer: Int64 { patience / 9 }
    /// The time after sending a renewal at which the holder stops its recorder, if no later renewal was confirmed.
    package var stop: Int64 { patience / 9 * 7 }
    /// The time after sending that renewal at which the recorder is killed. The remaining ninth allows for different clock rates.
    package var life: Int64 { patience / 9 * 8 }
}
