/// The likelihood that the last seconds' movement is walking: the logarithm of the odds, 0 if walking is as likely as not.
///
/// A logistic regression on the features of `MotionCharacter`: a weight for each feature, and one for the square of some, because
/// a middle cadence is evidence of walking and both extremes are evidence against it. Of the tested models it generalises best to
/// people outside the training data: networks of 8 and 16 units and products of features did no better there, features of
/// gravity's direction and of the time since rest did worse. `learned` is written by Tests/StepAccuracy/train.py.
package struct WalkingLikelihood: Hashable, Sendable {
    /// The number of a `StepDetector`'s `features` in use; the others are 0.
    package static let featureCount = 12

    private let weights, squares: SIMD16<Float>
    private let constant: Float

    /// - Parameters:
    ///   - table: a weight for each feature, and one for its square; up to 16 rows, missing ones count as 0.
    package init(_ table: [(weight: Float, square: Float)], constant: Float) {
        var (weights, squares) = (SIMD16<Float>(), SIMD16<Float>())
        for (index, row) in table.prefix(16).enumerated() {
            weights[index] = row.weight
            squares[index] = row.square
        }
        self.weights = weights
        self.squares = squares
        self.constant = constant
    }

    func callAsFunction(_ features: SIMD16<Float>) -> Double {
        Double((features * (weights + features * squares)).sum() + constant)
    }
}
