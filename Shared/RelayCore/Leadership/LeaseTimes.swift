/// The times of a lease, all parts of one: how long others wait for a holder of which nothing is heard. In nanoseconds.
package struct LeaseTimes: Hashable, Sendable {
    /// How long a candidate must see a lease unchanged, on its own clock, before it may take it.
    package let patience: Int64

    /// - Parameter patience: nanoseconds, greater than 0.
    package init(patience: Int64) {
        precondition(patience > 0, "a lease lasts some time")
        self.patience = patience
    }

    /// How often the holder renews.
    package var renewal: Int64 { patience / 9 }
    /// How often a candidate looks.
    package var look: Int64 { patience / 20 }
    /// How long an answer of the servers is waited for: they have none while they elect a leader.
    package var answer: Int64 { patience / 9 }
    /// How long after a renewal was sent the holder tells its recorder to stop, if no later one was confirmed.
    package var stop: Int64 { patience / 9 * 7 }
    /// How long after that renewal was sent the recorder is killed. The rest, a ninth, is for clocks that run at different rates.
    package var life: Int64 { patience / 9 * 8 }
}
