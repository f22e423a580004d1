/// The place where the device is worn: how much of each movement reaches it, how it swings and how it is held.
///
/// The axes of the device are x to the walker's right, y up along the limb or trunk and z forward, before it is pitched.
/// The figures are typical of recordings at these places, not fitted to any one of them.
package enum Placement: String, CaseIterable, Hashable, Sendable {
    case waist, pocket, hand, wrist

    /// The share of the trunk's vertical, forward and sideways movement that reaches the device.
    var gain: (vertical: Double, forward: Double, lateral: Double) {
        switch self {
        case .waist: (1, 1, 1)
        case .pocket: (1.15, 1.1, 0.9)
        case .hand: (0.65, 0.6, 0.5)
        case .wrist: (0.75, 0.7, 0.6)
        }
    }

    /// The amplitude of the limb's swing at the stride frequency in radians, and its sign for the starting foot.
    var swing: Double {
        switch self {
        case .waist: 0.03
        case .pocket: 0.3
        case .hand: 0.04
        case .wrist: -0.26
        }
    }

    /// The distance from the joint about which the limb swings, in metres.
    var lever: Double {
        switch self {
        case .waist: 0
        case .pocket: 0.2
        case .hand: 0.1
        case .wrist: 0.5
        }
    }

    /// How far the device is tipped about its x axis at rest, in radians: gravity moves from y to −z.
    var pitch: Double {
        switch self {
        case .waist: 0.05
        case .pocket: 0.25
        case .hand: 0.9
        case .wrist: 0.15
        }
    }
}
