package import Messages
import Recording

/// A run of a publisher that ended, of one of its streams.
package struct FormerRun: Sendable {
    let epoch: String
    let replay: String
    /// When the stream was last described, on the recorder's clock.
    let heard: WallTime
    /// The last description; nil if the run is known from a session's files alone.
    let description: StreamDescription?

    package init(_ description: StreamDescription, heard: WallTime) {
        epoch = description.epoch
        replay = description.replay
        self.heard = heard
        self.description = description
    }

    init(_ recorded: SessionRecord.Epoch) {
        epoch = recorded.epoch
        replay = recorded.replay
        heard = recorded.heard
        description = nil
    }
}
