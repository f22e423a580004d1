package import Messages
package import StepDetection

/// All that a detector knew between two samples of a stream, so that it can continue from there after a kill.
package struct DetectorSnapshot: Hashable, Sendable {
    /// The first sample that it had not seen: how many samples of the epoch it had taken.
    package var next: Int
    /// `StepDetector.state`.
    package var state: [UInt8]
    /// With other settings the state is of no use.
    package var settings: StepDetectorSettings
    /// When the present bout of walking began; nil while nobody walks.
    package var boutStart: WallTime?
    /// From uptimes to the device's dates: steps may be credited later that were made before this.
    package var dates: UptimeOffsets

    package init(
        next: Int, state: [UInt8], settings: StepDetectorSettings, boutStart: WallTime? = nil,
        dates: UptimeOffsets = UptimeOffsets()
    ) {
        self.next = next
        self.state = state
        self.settings = settings
        self.boutStart = boutStart
        self.dates = dates
    }
}
