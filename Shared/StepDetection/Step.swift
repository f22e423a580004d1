/// A step that was detected.
package struct Step: Codable, Hashable, Sendable {
    /// When it was made, in seconds on the clock of the samples.
    package var time: Double
    /// The time of the last sample's cell when it was credited: 0.1 to 0.5 s later, but up to 8 s for a bout's first ones.
    package var creditedAt: Double
    /// Steps a second when it was credited.
    package var cadence: Double
    /// How likely its bout was walking, from 0 to 1, by what was known when it was credited: as if the bout ended here. That of a
    /// bout's last step is the bout's.
    package var confidence: Double
    /// How many more true steps its bout is expected to have than before it. Those of a bout add up to its steps times its
    /// confidence, whichever steps they are stored with.
    package var expected = 0.0

    private enum CodingKeys: CodingKey {
        case time, creditedAt, cadence, confidence
    }

    package init(time: Double, creditedAt: Double, cadence: Double, confidence: Double, expected: Double = 0) {
        self.time = time
        self.creditedAt = creditedAt
        self.cadence = cadence
        self.confidence = confidence
        self.expected = expected
    }
}
