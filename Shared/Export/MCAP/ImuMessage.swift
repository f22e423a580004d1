package import Messages

/// A `sensor_msgs/msg/Imu` as ROS 2 and Foxglove read it: CDR, little-endian.
///
/// Quantities without an estimate are NaN, with -1 as the first element of their covariance, as the message's definition demands.
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

    /// The bytes of a message without its values, and the offsets of the values.
    private let template: [UInt8]
    private let rotation: Int
    private let acceleration: Int

    /// - Parameter frame: the frame's name, which is the device's.
    package init(frame: String) {
        var bytes: [UInt8] = [0, 1, 0, 0]
        bytes += [UInt8](repeating: 0, count: 8)
        let name = Array(frame.utf8) + [0]
        withUnsafeBytes(of: UInt32(name.count).littleEndian) { bytes += $0 }
        bytes += name
        // Alignment is counted from the end of the four-byte header.
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

    /// Whether a stream of this name is an accelerometer's. The message's acceleration includes gravity, so `userAcceleration`
    /// and `linear_acceleration`, as phones call it, do not match.
    package static func takes(streamNamed name: String) -> Bool {
        let name = name.lowercased()
        let letters = name.filter(\.isLetter)
        return name.contains("acc") && !letters.contains("useracc") && !letters.contains("linearacc")
    }

    /// Appends a message.
    /// - Parameters:
    ///   - time: nanoseconds since 1970 or another origin; negative before it.
    ///   - acceleration: x, y, z in m/s².
    ///   - rotation: x, y, z in rad/s; nil if unknown.
    @inline(__always)
    package func append(
        time: Int64, acceleration: SIMD3<Double>, rotation: SIMD3<Double>?, to buffer: inout ByteBuffer
    ) {
        template.withUnsafeBytes { template in
            buffer.withUnsafeMutableTail(reserving: template.count) { tail in
                let message = UnsafeMutableRawBufferPointer(start: tail, count: template.count)
                message.copyMemory(from: template)
                // Nanoseconds count up from the full second below, also for negative times.
                let (seconds, nanoseconds) = time.floorDivided(by: 1_000_000_000)
                Self.put(UInt32(truncatingIfNeeded: seconds), at: 4, in: message)
                Self.put(UInt32(truncatingIfNeeded: nanoseconds), at: 8, in: message)
                for axis in 0..<3 {
                    Self.put(acceleration[axis].bitPattern, at: self.acceleration + axis * 8, in: message)
                }
                if let rotation {
                    for axis in 0..<3 { Self.put(rotation[axis].bitPattern, at: self.rotation + axis * 8, in: message) }
                    Self.put(UInt64(0), at: self.rotation + 24, in: message)
                }
                return message.count
            }
        }
    }

    @inline(__always)
    private static func put<Number: FixedWidthInteger & BitwiseCopyable>(
        _ number: Number, at place: Int, in message: UnsafeMutableRawBufferPointer
    ) {
        message.storeBytes(of: number.littleEndian, toByteOffset: place, as: Number.self)
    }
}
