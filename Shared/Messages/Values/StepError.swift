/// The expected error of a number of steps: the average over recordings of unseen people, not a bound for one recording.
///
/// Both values concern the time that was counted; steps in the rest are unknown.
public struct StepError: Codable, Hashable, Sendable {
    /// Expected number of counted steps that are not real: for each bout its steps times the probability that it is not
    /// walking.
    public var falseSteps: Double
    /// Expected number of real steps that were not counted: the true steps times the miss rate in labelled recordings.
    public var missedSteps: Double

    /// Creates an expected error.
    public init(falseSteps: Double, missedSteps: Double) {
        self.falseSteps = falseSteps
        self.missedSteps = missedSteps
    }
}
