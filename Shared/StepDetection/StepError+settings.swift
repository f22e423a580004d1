package import Messages

extension StepError {
    /// - Parameters:
    ///   - steps: the number of counted steps.
    ///   - expected: how many of them are expected to be true.
    package init(steps: Int, expected: Double, _ settings: StepDetectorSettings) {
        let expected = max(0, min(Double(steps), expected))
        let missed = Self.missedShare(settings)
        self.init(falseSteps: Double(steps) - expected, missedSteps: expected * missed / (1 - missed))
    }

    /// The share of real steps that are not counted: the mean over labelled recordings of people whose data were not used for
    /// training, as printed by `make step-accuracy`.
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
