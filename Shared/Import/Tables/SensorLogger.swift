import Messages

/// What the tables of Sensor Logger's exports are.
///
/// tszheichoi/awesome-sensor-logger, UNITS.md and CROSSPLATFORM.md.
struct SensorLogger {
    /// The table that is about the recording, with one row.
    static let metadata = "Metadata"

    /// `ios` or `android`, as a rule; empty if the export does not say it.
    private let platform: String
    private let isStandardised: Bool

    init(_ metadata: [String: String]) {
        platform = metadata["platform"]?.lowercased() ?? ""
        isStandardised = metadata["standardisation"]?.lowercased() == "true"
    }

    /// A table's stream.
    ///
    /// `Accelerometer` is without gravity, so that steps can't be counted in it; with gravity it is `TotalAcceleration`, and
    /// `AccelerometerUncalibrated`.
    func stream(_ table: String) -> String {
        switch table {
        case "TotalAcceleration": "accelerometer"
        case "Accelerometer": "userAcceleration"
        default: Self.camelCase(table)
        }
    }

    /// The unit of all of a table's fields, where they have one.
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

    /// `Heart Rate` is `heartRate`.
    private static func camelCase(_ text: String) -> String {
        var words = text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        guard let first = words.first else { return "table" }
        words[0] = first.prefix(1).lowercased() + first.dropFirst()
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
