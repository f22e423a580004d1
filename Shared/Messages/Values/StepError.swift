/// What is expected to be wrong with a number of steps, on average over recordings of unseen people: not a bound for one of them.
///
/// Both concern the time that was counted; what was walked in the rest is not known.
public struct StepError: Codable, Hashable, Sendable {
    /// Counted steps that are expected to be none: of each bout the steps, times the chance that it is no walking.
    public var falseSteps: Double
    /// Steps that are expected to be made and not counted: as many, of those that are, as were missed in labelled recordings.
    public var missedSteps: Double

    /// An error.
    public init(falseSteps: Double, missedSteps: Double) {
        self.falseSteps = falseSteps
        self.missedSteps = missedSteps
    }
}
