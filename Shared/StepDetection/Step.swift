/// A step that was detected.
package struct Step: Codable, Hashable, Sendable {
    /// When it was made, in seconds on the clock of the samples.
    package var time: Double
    /// The time of the last sample's cell when it was credited: 0.1 to 0.5 s later, but up to 4 s for a bout's first ones.
    package var creditedAt: Double
    /// Steps a second when it was credited.
    package var cadence: Double

    package init(time: Double, creditedAt: Double, cadence: Double) {
        self.time = time
        self.creditedAt = creditedAt
        self.cadence = cadence
    }
}
