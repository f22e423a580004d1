/// How much must speak for walking before steps count.
package enum StepStrictness: String, CaseIterable, Codable, Hashable, Sendable {
    /// Counts more of what is short, slow or irregular, and more of what is not walking.
    case lenient
    /// What is measured and published.
    case normal
    /// For quiet hours: desk work, driving; loses more of the irregular walking.
    case strict
}
