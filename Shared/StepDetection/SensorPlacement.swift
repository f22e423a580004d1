/// The place where a device is worn, as far as it is known.
package enum SensorPlacement: String, CaseIterable, Codable, Hashable, Sendable {
    /// Anywhere: the published accuracy is measured for this placement.
    case unknown
    /// A phone: in a pocket, a bag or the hand.
    case phone
    /// A watch or a band at the wrist.
    case wrist
}
