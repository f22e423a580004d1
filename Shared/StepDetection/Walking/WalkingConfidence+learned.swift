extension WalkingConfidence {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingConfidence(constant: -3.7823, mean: 0.985, length: 1.0372)
}
