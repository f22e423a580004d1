/// An event of a `StepDetector`, in the order of its steps' times.
package enum WalkingEvent: Hashable, Sendable {
    /// A bout of walking began with the step at this time, which follows.
    case began(at: Double)
    case step(Step)
    /// The bout ended with the step at this time.
    case ended(at: Double)
}
