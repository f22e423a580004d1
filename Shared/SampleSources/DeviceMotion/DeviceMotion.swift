/// Device motion: a phone's fusion of accelerometer and gyroscope.
///
/// `userAcceleration` + `gravity` is the accelerometer's reading, in the sign of specific force: at rest, the axis that points up
/// has +1 g of gravity. `rotationRate` is in rad/s. A component that a source lacks is zero; further fields that a source may
/// have are in `optionalFields`.
package struct DeviceMotion: Hashable, Sendable {
    /// The acceleration without gravity.
    package var userAcceleration: SIMD3<Double>
    /// The direction of up in the device's axes, times 1 g.
    package var gravity: SIMD3<Double>
    /// The angular velocity around the device's axes in rad/s.
    package var rotationRate: SIMD3<Double>

    package init(
        userAcceleration: SIMD3<Double> = .zero, gravity: SIMD3<Double> = .zero, rotationRate: SIMD3<Double> = .zero
    ) {
        self.userAcceleration = userAcceleration
        self.gravity = gravity
        self.rotationRate = rotationRate
    }

    /// The accelerometer's reading.
    package var acceleration: SIMD3<Double> { userAcceleration + gravity }

    /// The fields of a device motion stream, in the order of `append(to:)`.
    package static let fields = ["userAcceleration", "gravity", "rotationRate"].flatMap { name in
        ["x", "y", "z"].map { "\(name).\($0)" }
    }

    /// Further fields of a device motion stream, if its source has them: the attitude as a quaternion, the calibrated magnetic
    /// field with its accuracy, the heading in degrees with the accuracy of the event, and their common reference frame.
    package static let optionalFields =
        ["x", "y", "z", "w"].map { "attitude.\($0)" } + ["x", "y", "z", "accuracy"].map { "magneticField.\($0)" }
        + ["heading", "headingAccuracy", "accuracy", "eventAccuracy", "referenceCoordinate"]

    /// Appends the nine values to a row.
    package func append(to row: inout [Double]) {
        Self.append(userAcceleration, to: &row)
        Self.append(gravity, to: &row)
        Self.append(rotationRate, to: &row)
    }

    private static func append(_ vector: SIMD3<Double>, to row: inout [Double]) {
        row.append(vector.x)
        row.append(vector.y)
        row.append(vector.z)
    }

    /// The sum of two motions, component by component.
    package static func + (left: Self, right: Self) -> Self {
        Self(
            userAcceleration: left.userAcceleration + right.userAcceleration, gravity: left.gravity + right.gravity,
            rotationRate: left.rotationRate + right.rotationRate)
    }
}
