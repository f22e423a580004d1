package struct Step: Codable, Hashable, Sendable {
    /// When the step was made, in seconds on the clock of the samples.
    package var time: Double
    /// The time of the last sample's cell when the step was credited: 0.1 to 0.5 s later, but up to 8 s for a bout's first steps.
    package var creditedAt: Double
    /// The cadence when it was credited, in steps a second.
    package var cadence: Double
    /// The probability that its bout is walking, from 0 to 1, as known when it was credited: as if the bout ended here. That of
    /// the last step is the bout's.
    package var confidence: Double
    /// How much this step increases the number of true steps expected in its bout. The sum over a bout is its steps times its
    /// confidence, regardless of which steps they are stored with.
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
