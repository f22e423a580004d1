package import Messages

/// A run of a publisher that ended: the last description of a stream, and when it was heard, on the recorder's clock.
package struct FormerRun: Sendable {
    package var description: StreamDescription
    package var heard: WallTime
    /// Whether the run is known from a session's files alone: its clock was then not read when the run was last heard.
    var isRecorded = false
}
