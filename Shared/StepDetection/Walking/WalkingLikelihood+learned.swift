extension WalkingLikelihood {
    /// Written by Tests/StepAccuracy/train.py: do not edit.
    package static let learned = WalkingLikelihood(
        [
            // deviation of the magnitude, ln of a multiple of 0.15 g
            (1.5931, -0.0469),
            // regularity of the magnitude
            (2.6425, 0.0),
            // regularity of the axes
            (3.7264, 0.0),
            // symmetry
            (1.2173, 0.0),
            // cadence, ln of a multiple of 1.8 Hz
            (0.4494, -3.0349),
            // strongest frequency, ln of a multiple of 1.8 Hz
            (-0.263, 0.0),
            // above 6 Hz / 0.5 to 3 Hz, ln
            (0.4427, 0.1051),
            // above 3 Hz / 0.5 to 3 Hz, ln
            (-0.5895, -0.4963),
            // axes / magnitude, ln
            (-3.0334, 0.5508),
            // skewness below 3 Hz
            (-0.0405, 0.0),
            // above 6 Hz / 0.5 to 3 Hz in 5 s, ln
            (-0.6236, 0.0),
            // straightness of the axes
            (-9.3209, 0.0),
        ],
        constant: 2.576)
}
