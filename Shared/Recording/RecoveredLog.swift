package import Messages

/// How far a log came before it was cut off.
package struct RecoveredLog {
    /// Where an epoch goes on.
    package struct Position: Hashable, Sendable {
        package var epoch: String
        /// The sequence of the sample that comes next.
        package var next: Int

        package init(epoch: String, next: Int) {
            self.epoch = epoch
            self.next = next
        }
    }

    /// The file to go on in; `nil` where the log is closed, and where there is none although there should be: then it
    /// must be made anew.
    package let file: LogFile?
    /// In the order in which the epochs were met, the current one last.
    package let positions: [Position]
    package let counts: StreamCounts
    /// Samples that could not be had, each run once.
    package let gaps: [Gap]
    /// The uptime of the first sample, in seconds of the publisher's clock.
    package let firstUptime: Double?
    /// The uptime of the last sample.
    package let lastUptime: Double?
    /// Whether the session's stop is its last record.
    package let isMarkedStopped: Bool
    /// How many bytes were cut off at its end.
    package let tornBytes: Int
    /// Greater than the index of every line about it in the journal.
    package let nextIndex: Int
}
