extension WalkingLikelihood {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingLikelihood(
        [
            // deviation of the magnitude, ln of a multiple of 0.15 g
            (1.5256, -0.1406),
            // regularity of the magnitude
            (2.9552, 0.0),
            // regularity of the axes
            (2.7141, 0.0),
            // symmetry
            (1.3785, 0.0),
            // cadence, ln of a multiple of 1.8 Hz
            (0.0388, -3.2919),
            // strongest frequency, ln of a multiple of 1.8 Hz
            (-0.3685, 0.0),
            // above 6 Hz / 0.5 to 3 Hz, ln
            (0.632, 0.0833),
            // above 3 Hz / 0.5 to 3 Hz, ln
            (-0.9075, -0.9022),
            // axes / magnitude, ln
            (-2.55, -0.0373),
            // skewness below 3 Hz
            (-0.1559, 0.0),
            // above 6 Hz / 0.5 to 3 Hz in 5 s, ln
            (-0.622, 0.0),
        ],
        constant: -2.0207)
}
