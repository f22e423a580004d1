extension WalkingConfidence {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingConfidence(constant: -3.5412, mean: 0.7341, length: 1.0194)
}
