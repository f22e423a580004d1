/// What a row of a file of accelerations says.
package enum AccelerationRow: Hashable, Sendable {
    /// Seconds, and three axes.
    case sample(SIMD4<Double>)
    /// A recording's marker, with the unit of the samples where it says it.
    case marker(unit: String?)
    /// Nothing that can be used.
    case none
}
