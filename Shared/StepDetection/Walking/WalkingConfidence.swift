import Glibc

/// How likely a bout is walking, from 0.01 to 0.99.
///
/// A logistic regression on what `WalkingLikelihood` said of a bout: the mean of its log odds, and the logarithm of the number of
/// estimates. Of a bout that lasts it is what it would be if it ended now. Estimates overlap, and their errors last: the sum of their odds, as if they were independent, would
/// be far too sure (Platt, "Probabilistic outputs for support vector machines", 1999, calibrates a classifier the same way).
/// `learned` is written by Tests/StepAccuracy/train.py.
package struct WalkingConfidence: Hashable, Sendable {
    /// No recording tells of more than this.
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
    ///   - estimates: how many there were, one each 0.24 s.
    func callAsFunction(odds: Double, estimates: Double) -> Double {
        let sum = constant + mean * odds + length * log(max(1, estimates))
        return max(Self.range.lowerBound, min(Self.range.upperBound, 1 / (1 + exp(-sum))))
    }
}
