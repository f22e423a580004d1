/// How much evidence of walking is needed before steps count.
package enum StepStrictness: String, CaseIterable, Codable, Hashable, Sendable {
    /// Counts more short, slow or irregular walks, and more movements that are not walking.
    case lenient
    /// The setting with the published accuracy.
    case normal
    /// For quiet hours, such as desk work or driving; misses more irregular walking.
    case strict
}
