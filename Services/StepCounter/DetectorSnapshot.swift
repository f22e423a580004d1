import Messages
import StepDetection

/// All that a detector knew between two samples of a stream, so that it can go on from there after a kill.
struct DetectorSnapshot: Hashable, Sendable {
    /// The first sample that it had not seen: how many samples of the epoch it had taken.
    var next: Int
    /// `StepDetector.state`.
    var state: [UInt8]
    /// What the detector was told. With other settings the state is of no use.
    var settings: StepDetectorSettings
    /// When the present bout of walking began; nil while nobody walks.
    var boutStart: WallTime?
}
