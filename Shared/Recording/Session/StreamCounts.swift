/// What became of the samples of a stream, over all files of its log.
package struct StreamCounts: Codable, Hashable, Sendable {
    package var written = 0
    /// Samples left out because they were taken during a pause.
    package var paused = 0
    /// Of both, those that had to be asked for again.
    package var recovered = 0
    package var duplicates = 0

    package init() {}

    /// Samples that arrived, in the first delivery or by replay.
    package var received: Int { written + paused }
}
