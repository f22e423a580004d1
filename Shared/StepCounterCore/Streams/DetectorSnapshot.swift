package import Messages
package import StepDetection

/// The state of a detector between two samples of a stream, from which it can continue after a kill.
package struct DetectorSnapshot: Hashable, Sendable {
    /// The first sample that the detector has not taken: the number of samples of the epoch that it has.
    package var next: Int
    /// `StepDetector.state`.
    package var state: [UInt8]
    /// With other settings the state cannot be used.
    package var settings: StepDetectorSettings
    /// When the present bout of walking began; nil while nobody walks.
    package var boutStart: WallTime?
    /// Offsets from uptimes to the device's dates: steps made before this may be credited later.
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
