/// How likely the last seconds' movement is of walking: the logarithm of the odds, 0 for as likely as not.
///
/// A logistic regression on what `MotionCharacter` says: a weight for each feature, and one for the square of some, as a
/// middling cadence speaks for walking and both ends against it. Of what was tried it is the one that holds for people it
/// has not learned from: networks of 8 and 16 units and products of features did no better there, features of gravity's
/// direction and of the time since rest did worse. `learned` is written by Tests/StepAccuracy/train.py.
package struct WalkingLikelihood: Hashable, Sendable {
    /// How many of a `StepDetector`'s `features` there are; the others are 0.
    package static let featureCount = 12

    private let weights, squares: SIMD16<Float>
    private let constant: Float

    /// - Parameters:
    ///   - table: a weight for each feature, and one for its square; up to 16, what is missing counts as 0.
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

    /// The log odds.
    func callAsFunction(_ features: SIMD16<Float>) -> Double {
        Double((features * (weights + features * squares)).sum() + constant)
    }
}
