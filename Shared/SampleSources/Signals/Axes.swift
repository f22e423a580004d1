/// The axes that a signal acts on; it is zero on the others.
package struct Axes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let x = Axes(rawValue: 1)
    package static let y = Axes(rawValue: 2)
    package static let z = Axes(rawValue: 4)
    package static let all: Axes = [.x, .y, .z]

    /// Reads the letters of the axes in a specification: "xz".
    package init?(letters: String) {
        self = []
        for letter in letters {
            switch letter {
            case "x": insert(.x)
            case "y": insert(.y)
            case "z": insert(.z)
            default: return nil
            }
        }
        if isEmpty { return nil }
    }

    package var letters: String {
        (contains(.x) ? "x" : "") + (contains(.y) ? "y" : "") + (contains(.z) ? "z" : "")
    }

    /// `value` on each of these axes, and 0 on the others.
    func filled(with value: Double) -> SIMD3<Double> {
        SIMD3(contains(.x) ? value : 0, contains(.y) ? value : 0, contains(.z) ? value : 0)
    }
}
