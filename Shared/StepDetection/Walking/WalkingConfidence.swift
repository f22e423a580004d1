import Glibc

/// The probability that a bout is walking, from 0.01 to 0.99.
///
/// A logistic regression on the estimates of `WalkingLikelihood` in a bout: the mean of their log odds, and the logarithm of
/// their number. For a bout in progress it is the value if the bout ended now. Estimates overlap and share errors, so the sum of
/// their odds, as if they were independent, would be far too certain (Platt, "Probabilistic outputs for support vector machines",
/// 1999, calibrates a classifier the same way). `learned` is written by Tests/StepAccuracy/train.py.
package struct WalkingConfidence: Hashable, Sendable {
    /// The recordings support no values beyond this.
    private static let range = 0.01...0.99

    private let constant, mean, length: Double

    /// - Parameters:
    ///   - mean: the weight of the mean log odds.
    ///   - length: the weight of the natural logarithm of the number of estimates.
    package init(constant: Double, mean: Double, length: Double) {
        self.constant = constant
        self.mean = mean
        self.length = length
    }

    /// - Parameters:
    ///   - odds: the mean log odds of the bout's estimates.
    ///   - estimates: the number of estimates, one each 0.24 s.
    func callAsFunction(odds: Double, estimates: Double) -> Double {
        let sum = constant + mean * odds + length * log(max(1, estimates))
        return max(Self.range.lowerBound, min(Self.range.upperBound, 1 / (1 + exp(-sum))))
    }
}
