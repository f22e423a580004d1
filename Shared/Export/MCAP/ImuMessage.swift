package import Messages

/// A `sensor_msgs/msg/Imu` as ROS 2 and Foxglove read it: CDR, little-endian.
///
/// What there is no estimate of has NaN, and -1 as the first of its covariance, as the message's definition has it.
package struct ImuMessage {
    package static let schemaName = "sensor_msgs/msg/Imu"

    package static let schema: String = {
        let line = String(repeating: "=", count: 80)
        return """
            std_msgs/Header header
            geometry_msgs/Quaternion orientation
            float64[9] orientation_covariance
            geometry_msgs/Vector3 angular_velocity
            float64[9] angular_velocity_covariance
            geometry_msgs/Vector3 linear_acceleration
            float64[9] linear_acceleration_covariance
            \(line)
            MSG: std_msgs/Header
            builtin_interfaces/Time stamp
            string frame_id
            \(line)
            MSG: builtin_interfaces/Time
            int32 sec
            uint32 nanosec
            \(line)
            MSG: geometry_msgs/Quaternion
            float64 x
            float64 y
            float64 z
            float64 w
            \(line)
            MSG: geometry_msgs/Vector3
            float64 x
            float64 y
            float64 z

            """
    }()

    /// The bytes of a message without its values, and where these stand.
    private let template: [UInt8]
    private let rotation: Int
    private let acceleration: Int

    /// - Parameter frame: the frame's name: the device.
    package init(frame: String) {
        var bytes: [UInt8] = [0, 1, 0, 0]
        bytes += [UInt8](repeating: 0, count: 8)
        let name = Array(frame.utf8) + [0]
        withUnsafeBytes(of: UInt32(name.count).littleEndian) { bytes += $0 }
        bytes += name
        // Alignment is counted from behind the first four bytes.
        while (bytes.count - 4) % 8 != 0 { bytes.append(0) }
        func put(_ values: [Double]) {
            for value in values { withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 } }
        }
        let none = [-1] + [Double](repeating: 0, count: 8)
        put([0, 0, 0, 1] + none)
        rotation = bytes.count
        put([.nan, .nan, .nan] + none)
        acceleration = bytes.count
        put([0, 0, 0] + [Double](repeating: 0, count: 9))
        template = bytes
    }

    /// Appends a message.
    /// - Parameters:
    ///   - time: nanoseconds since 1970.
    ///   - acceleration: m/s², x, y, z.
    ///   - rotation: rad/s, if it is known.
    @inline(__always)
    package func append(
        time: Int64, acceleration: SIMD3<Double>, rotation: SIMD3<Double>?, to buffer: inout ByteBuffer
    ) {
        let start = buffer.count
        buffer.append(template)
        let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
        buffer.put(littleEndian: Int32(truncatingIfNeeded: seconds), at: start + 4)
        buffer.put(littleEndian: UInt32(truncatingIfNeeded: nanoseconds), at: start + 8)
        for axis in 0..<3 {
            buffer.put(littleEndian: acceleration[axis].bitPattern, at: start + self.acceleration + axis * 8)
        }
        guard let rotation else { return }
        for axis in 0..<3 { buffer.put(littleEndian: rotation[axis].bitPattern, at: start + self.rotation + axis * 8) }
        buffer.put(littleEndian: UInt64(0), at: start + self.rotation + 24)
    }
}
