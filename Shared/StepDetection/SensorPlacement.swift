/// Where a device is worn, as far as it is known.
package enum SensorPlacement: String, CaseIterable, Codable, Hashable, Sendable {
    /// Anywhere: the figures that are measured and published are for this one.
    case unknown
    /// A phone: in a pocket, a bag or the hand.
    case phone
    /// A watch or a band at the wrist.
    case wrist
}
