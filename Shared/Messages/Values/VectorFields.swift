/// The fields that are components of a vector of one quantity, by their names. A stream has one unit, but may also have fields of
/// other quantities: a device motion in g has rotation rates.
package struct VectorFields: Sendable {
    package static let acceleration = VectorFields(prefixes: ["userAcceleration.", "gravity."])
    package static let rotationRate = VectorFields(prefixes: ["rotationRate."])

    /// Names that stand for the quantity of the stream's unit. Biases are those of Android's uncalibrated sensors.
    private static let plain: Set = ["x", "y", "z", "xBias", "yBias", "zBias"]

    private let prefixes: [String]

    package func contains(_ name: String) -> Bool { Self.plain.contains(name) || names(name) }

    /// Whether a name says itself that its field is a component of the vector.
    package func names(_ name: String) -> Bool { prefixes.contains { name.hasPrefix($0) } }
}
