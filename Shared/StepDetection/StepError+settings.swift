package import Messages

extension StepError {
    /// - Parameters:
    ///   - steps: how many were counted.
    ///   - expected: how many of them are expected to be true.
    package init(steps: Int, expected: Double, _ settings: StepDetectorSettings) {
        let expected = max(0, min(Double(steps), expected))
        let missed = Self.missedShare(settings)
        self.init(falseSteps: Double(steps) - expected, missedSteps: expected * missed / (1 - missed))
    }

    /// Which share of the steps that people make is not counted: the mean over labelled recordings of people from whom nothing
    /// was learned, as `make step-accuracy` prints it.
    private static func missedShare(_ settings: StepDetectorSettings) -> Double {
        switch (settings.placement, settings.strictness) {
        case (.unknown, .lenient): 0.016
        case (.unknown, .normal): 0.025
        case (.unknown, .strict): 0.044
        case (.phone, .lenient): 0.018
        case (.phone, .normal): 0.018
        case (.phone, .strict): 0.019
        case (.wrist, .lenient): 0.03
        case (.wrist, .normal): 0.077
        case (.wrist, .strict): 0.152
        }
    }
}
