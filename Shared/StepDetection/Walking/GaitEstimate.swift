/// An estimate of the gait in the last seconds.
struct GaitEstimate: Hashable, Sendable {
    /// The standard deviation of the magnitude in g.
    var deviation = 0.0
    /// Steps a second.
    var cadence = 0.0
    /// The correlation of the magnitude with itself one stride before, −1 … 1.
    var regularity = 0.0
    /// The same for the three axes together; equal to `regularity` for a stream with only the magnitude.
    var axesRegularity = 0.0
    /// How closely the axes move along one line: 1 for a line, 1/2 for all directions of a plane equally, 1/3 for all of space;
    /// nil for a stream with only the magnitude.
    var straightness: Double?
    /// The correlation of the magnitude with itself one step before, −1 … 1.
    var symmetry = 0.0
    /// The frequency of the spectrum's maximum, in Hz.
    var strongest = 0.0
    /// The best cadence of all, whether it is near the followed one or not.
    var bestCadence = 0.0
    /// By how much the score of the best cadence of all exceeds that of the best one in the followed range.
    var rivalry = 0.0
}
