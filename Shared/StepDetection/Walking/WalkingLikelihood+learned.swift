extension WalkingLikelihood {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingLikelihood(
        [
            // deviation of the magnitude, ln of a multiple of 0.15 g
            (1.5934, -0.0486),
            // regularity of the magnitude
            (2.6271, 0.0),
            // regularity of the axes
            (3.7292, 0.0),
            // symmetry
            (1.2179, 0.0),
            // cadence, ln of a multiple of 1.8 Hz
            (0.451, -3.025),
            // strongest frequency, ln of a multiple of 1.8 Hz
            (-0.2617, 0.0),
            // above 6 Hz / 0.5 to 3 Hz, ln
            (0.4455, 0.1042),
            // above 3 Hz / 0.5 to 3 Hz, ln
            (-0.5955, -0.4937),
            // axes / magnitude, ln
            (-3.0398, 0.5531),
            // skewness below 3 Hz
            (-0.0413, 0.0),
            // above 6 Hz / 0.5 to 3 Hz in 5 s, ln
            (-0.6241, 0.0),
            // straightness of the axes
            (-9.3164, 0.0),
        ],
        constant: 2.5864)
}
