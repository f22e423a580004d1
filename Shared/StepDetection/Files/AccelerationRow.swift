/// The content of a row in a file of accelerations.
package enum AccelerationRow: Hashable, Sendable {
    /// Seconds and three axes.
    case sample(SIMD4<Double>)
    /// A recording's marker, with the unit of the samples if the marker has it.
    case marker(unit: String?)
    /// An unusable row.
    case none
}
