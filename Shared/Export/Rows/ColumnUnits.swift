import Messages

/// The units of a stream's columns, of which not all need to have the stream's unit.
package enum ColumnUnits {
    /// The unit of each column; nil if it is unknown.
    /// - Parameters:
    ///   - names: the columns' names.
    ///   - unit: the stream's unit.
    package static func units(of names: [String], in unit: String?) -> [String?] {
        guard let unit, let vector = vectorFields(in: unit) else { return names.map { _ in unit } }
        // Columns with names of their own, such as `magnitude`, have the unit if no column has a known name.
        let isKnown = names.contains { vector.contains($0) }
        return names.map { name in
            let hasUnit = isKnown ? vector.contains(name) : !isOther(name)
            return hasUnit ? unit : nil
        }
    }

    private static func vectorFields(in unit: String) -> VectorFields? {
        if AccelerationUnit(unit) != nil { return .acceleration }
        return RotationUnit(unit) == nil ? nil : .rotationRate
    }

    /// Whether a field can have neither a unit of acceleration nor the other one.
    private static func isOther(_ name: String) -> Bool {
        ["qx", "qy", "qz", "qw", "heading"].contains(name) || name.hasPrefix("attitude.")
            || name.hasPrefix("magneticField.")
            || VectorFields.acceleration.names(name) || VectorFields.rotationRate.names(name)
    }
}
