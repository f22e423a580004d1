/// Device motion: what a phone makes of accelerometer and gyroscope together.
///
/// `userAcceleration` + `gravity` is what the accelerometer reads, in the sign of specific force: lying still, the axis that
/// points up has +1 g of gravity. `rotationRate` is in rad/s. A component that a source does not give is zero; what else a
/// source may give is in `optionalFields`.
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

    /// What the accelerometer reads.
    package var acceleration: SIMD3<Double> { userAcceleration + gravity }

    /// The fields of a device motion stream, in the order of `append(to:)`.
    package static let fields = ["userAcceleration", "gravity", "rotationRate"].flatMap { name in
        ["x", "y", "z"].map { "\(name).\($0)" }
    }

    /// What a stream of device motion has besides, if its source does: the attitude as a quaternion, the calibrated magnetic
    /// field with its accuracy, the heading in degrees with the accuracy of the event, and the frame that all refer to.
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
