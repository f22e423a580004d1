extension WalkingConfidence {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingConfidence(constant: -3.7564, mean: 0.9751, length: 1.0349)
}
