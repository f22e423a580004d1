/// The meaning of Android's sensors, by `Sensor.getStringType()`: `android.sensor.accelerometer`.
///
/// developer.android.com/reference/android/hardware/SensorEvent#values.
struct AndroidSensor {
    /// The name of its stream: that of Sensor Logger, if it has such a sensor.
    let stream: String
    /// The common unit of its values, if it is known.
    let unit: String?
    /// The names of its values, if there are at most this many.
    private let known: [String]

    private static let prefix = "android.sensor."
    private static let axes = ["x", "y", "z"]
    private static let quaternion = ["x", "y", "z", "w", "accuracy"]
    private static let biased = ["x", "y", "z", "xBias", "yBias", "zBias"]

    /// - Parameter type: Android's name of the sensor; other vendors' sensors may have any name.
    init(_ type: String) {
        let name = type.hasPrefix(Self.prefix) ? String(type.dropFirst(Self.prefix.count)) : type
        let (stream, unit, known): (String?, String?, [String]) =
            switch name {
            case "accelerometer": (nil, "m/s2", Self.axes)
            case "linear_acceleration": ("userAcceleration", "m/s2", Self.axes)
            case "gravity": (nil, "m/s2", Self.axes)
            case "accelerometer_uncalibrated": (nil, "m/s2", Self.biased)
            case "gyroscope": (nil, "rad/s", Self.axes)
            case "gyroscope_uncalibrated": (nil, "rad/s", Self.biased)
            case "magnetic_field", "magnetometer": ("magnetometer", "uT", Self.axes)
            case "magnetic_field_uncalibrated": ("magnetometerUncalibrated", "uT", Self.biased)
            case "orientation": (nil, "deg", ["azimuth", "pitch", "roll"])
            case "rotation_vector", "game_rotation_vector", "geomagnetic_rotation_vector": (nil, nil, Self.quaternion)
            case "light": (nil, "lx", [])
            case "pressure": (nil, "hPa", [])
            case "proximity": (nil, "cm", [])
            default: (nil, nil, [])
            }
        self.stream = stream ?? PhonePlatform.camelCase(name)
        self.unit = unit
        self.known = known
    }

    /// The names of `count` values.
    func fields(_ count: Int) -> [String] {
        if count <= known.count { return Array(known.prefix(count)) }
        return switch count {
        case 1: ["value"]
        case 2, 3: Array(Self.axes.prefix(count))
        default: (0..<count).map { "v\($0)" }
        }
    }
}
