/// The numbers of a stream's samples by what happened to them, over all files of its log.
package struct StreamCounts: Codable, Hashable, Sendable {
    package var written = 0
    /// Samples left out because they were taken during a pause.
    package var paused = 0
    /// The replayed samples among both.
    package var recovered = 0
    package var duplicates = 0

    package init() {}

    /// Samples that arrived, at first delivery or by replay.
    package var received: Int { written + paused }
}
