package import Messages

/// A run of a publisher that ended: what was said of a stream last, and when that was heard, on the recorder's clock.
package struct FormerRun: Sendable {
    package var description: StreamDescription
    package var heard: WallTime
}
