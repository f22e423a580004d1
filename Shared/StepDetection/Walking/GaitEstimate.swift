/// What the last seconds say about walking.
struct GaitEstimate: Hashable, Sendable {
    /// The standard deviation of the magnitude in g.
    var deviation = 0.0
    /// Steps a second.
    var cadence = 0.0
    /// How much the magnitude is like itself one stride before, −1 … 1.
    var regularity = 0.0
    /// The same for the three axes together; as `regularity` for a stream that has a magnitude only.
    var axesRegularity = 0.0
    /// How much the axes move along one line: 1 for a line, 1/2 for all directions of a plane alike, 1/3 for all of space; nil
    /// for a stream that has a magnitude only.
    var straightness: Double?
    /// How much the magnitude is like itself one step before, −1 … 1.
    var symmetry = 0.0
    /// The frequency of the spectrum's maximum, in Hz.
    var strongest = 0.0
    /// The best cadence of all, followed or not.
    var bestCadence = 0.0
    /// How much better another cadence than those that were asked for would be.
    var rivalry = 0.0
}
