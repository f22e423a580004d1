package import Messages

/// How far a log came before it was interrupted.
package struct RecoveredLog: Sendable {
    /// Where an epoch continues.
    package struct Position: Hashable, Sendable {
        package var epoch: String
        /// The sequence of the sample that comes next.
        package var next: Int
    }

    /// The file being written.
    package struct File: Hashable, Sendable {
        /// Which of the log's files, counted from 0.
        package let index: Int
        /// Its length, terminator included.
        package let bytes: Int
        package let samples: Int
    }

    /// `nil` if the log is closed, and if the file does not exist although it should: then it must be made anew.
    package let file: File?
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
}
