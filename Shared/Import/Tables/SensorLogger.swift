import Messages

/// The meaning of the tables in Sensor Logger's exports.
///
/// tszheichoi/awesome-sensor-logger, UNITS.md and CROSSPLATFORM.md.
struct SensorLogger {
    /// The table with metadata of the recording, in one row.
    static let metadata = "Metadata"

    /// Usually `ios` or `android`; empty if the export does not state it.
    private let platform: String
    private let isStandardised: Bool

    init(_ metadata: [String: String]) {
        platform = metadata["platform"]?.lowercased() ?? ""
        isStandardised = metadata["standardisation"]?.lowercased() == "true"
    }

    /// The name of a table's stream.
    ///
    /// `Accelerometer` excludes gravity, so steps cannot be counted in it; `TotalAcceleration` and `AccelerometerUncalibrated`
    /// include it.
    func stream(_ table: String) -> String {
        switch table {
        case "TotalAcceleration": "accelerometer"
        case "Accelerometer": "userAcceleration"
        default: Self.camelCase(table)
        }
    }

    /// The common unit of a table's fields, if they have one.
    func unit(_ table: String) -> String? {
        switch table {
        case "TotalAcceleration", "Accelerometer", "Gravity": "m/s2"
        case "AccelerometerUncalibrated":
            isStandardised || platform.contains("android") ? "m/s2" : platform.contains("ios") ? "g" : nil
        case "Gyroscope", "GyroscopeUncalibrated": "rad/s"
        case "Magnetometer", "MagnetometerUncalibrated": "uT"
        default: nil
        }
    }

    /// `Heart Rate` becomes `heartRate`.
    private static func camelCase(_ text: String) -> String {
        var words = text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        guard let first = words.first else { return "table" }
        words[0] = first.prefix(1).lowercased() + first.dropFirst()
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
