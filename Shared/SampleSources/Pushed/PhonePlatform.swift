/// The platform of a phone, which determines the units and signs of Sensor Logger's readings: its messages do not state it.
///
/// tszheichoi/awesome-sensor-logger, UNITS.md and CROSSPLATFORM.md.
package enum PhonePlatform: String, CaseIterable, Hashable, Sendable {
    case ios
    case android
    /// The app's setting "Standardise Units & Frames" is on.
    case standardised

    /// The name of a sensor's stream: the same as in a session imported from the app's export.
    static func stream(_ sensor: String) -> String {
        switch sensor {
        case "accelerometer": "userAcceleration"
        case "totalacceleration": "accelerometer"
        case "accelerometeruncalibrated": "accelerometerUncalibrated"
        case "gyroscopeuncalibrated": "gyroscopeUncalibrated"
        case "magnetometeruncalibrated": "magnetometerUncalibrated"
        case "heartrate": "heartRate"
        default: camelCase(sensor)
        }
    }

    /// `wrist motion` becomes `wristMotion`. Characters that a stream's name cannot have are left out.
    static func camelCase(_ text: String) -> String {
        let words = text.split { !$0.isASCII || !$0.isLetter && !$0.isNumber }
        guard let first = words.first else { return "sensor" }
        return words.dropFirst().reduce(first.prefix(1).lowercased() + first.dropFirst()) {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }

    /// The common unit of a sensor's fields, if it is known.
    static func unit(_ sensor: String, on platform: PhonePlatform?) -> String? {
        switch sensor {
        case "accelerometer", "gravity", "totalacceleration": "m/s2"
        case "accelerometeruncalibrated":
            switch platform {
            case .ios: "g"
            case .android, .standardised: "m/s2"
            case nil: nil
            }
        case "gyroscope", "gyroscopeuncalibrated": "rad/s"
        case "magnetometer", "magnetometeruncalibrated": "uT"
        default: nil
        }
    }

    /// What is known of the signs of accelerations, for people.
    static func signs(on platform: PhonePlatform?) -> String {
        switch platform {
        case .ios: "iOS: z of gravity is negative if the phone lies on its back"
        case .android: "Android: z of gravity is positive if the phone lies on its back"
        case .standardised: "standardised by the app: z of gravity is positive if the phone lies on its back"
        case nil: "platform not stated, so the signs of accelerations are unknown"
        }
    }
}

/// Makes streams from Sensor Logger's readings, in one session of the app.
///
/// `accelerometer` excludes gravity. On Android `totalacceleration` includes it; on iOS the total is the sum of `accelerometer`
/// and `gravity`, which have the same times. That sum becomes the stream `accelerometer`, because steps are counted in it.
package struct SensorLoggerStreams: Sendable {
    package struct Part: Sendable {
        package let stream: String
        package let unit: String?
        package let description: String
        package var rows: PushedRows
    }

    /// The most accelerations, or readings of gravity, that wait for their counterpart with the same time.
    private static let maximumWaiting = 2_000
    /// The same for a silent phone: its last message may have had one without the other.
    private static let maximumOfSilent = 100
    private static let axes = ["x", "y", "z"]

    private let platform: PhonePlatform?
    private var accelerations: [Int64: [Double]] = [:]
    private var gravities: [Int64: [Double]] = [:]
    /// Whether the app sends the total itself.
    private var hasTotal = false

    package init(platform: PhonePlatform?) {
        self.platform = platform
    }

    /// The samples of a message, stream by stream.
    package mutating func parts(of message: SensorLoggerMessage) -> [Part] {
        hasTotal = hasTotal || message.readings.contains { $0.sensor == "totalacceleration" }
        var parts = message.readings.map { readings in
            Part(
                stream: PhonePlatform.stream(readings.sensor), unit: PhonePlatform.unit(readings.sensor, on: platform),
                description: describe(readings.sensor), rows: readings.rows)
        }
        guard !hasTotal else { return parts }
        for readings in message.readings where readings.rows.types == nil && readings.rows.fields == Self.axes {
            switch readings.sensor {
            case "accelerometer": Self.add(readings.rows, to: &accelerations)
            case "gravity": Self.add(readings.rows, to: &gravities)
            default: break
            }
        }
        var total = PushedRows(fields: Self.axes)
        for time in accelerations.keys.filter({ gravities[$0] != nil }).sorted() {
            guard let one = accelerations.removeValue(forKey: time), let other = gravities.removeValue(forKey: time)
            else { continue }
            total.append(zip(one, other).map(+), time: time)
        }
        if total.count > 0 {
            parts.append(
                Part(
                    stream: "accelerometer", unit: "m/s2", description: describe("accelerometer + gravity"), rows: total
                ))
        }
        return parts
    }

    /// Keeps only a few waiting readings, because the phone is silent and may stay so.
    package mutating func shrink() {
        Self.shrink(&accelerations)
        Self.shrink(&gravities)
    }

    private static func shrink(_ waiting: inout [Int64: [Double]]) {
        guard waiting.count > maximumOfSilent else { return }
        let latest = waiting.keys.sorted().suffix(maximumOfSilent)
        waiting = Dictionary(uniqueKeysWithValues: latest.compactMap { time in waiting[time].map { (time, $0) } })
    }

    private static func add(_ rows: PushedRows, to waiting: inout [Int64: [Double]]) {
        for (row, time) in rows.times.enumerated() {
            waiting[time] = Array(rows.values[row * 3..<row * 3 + 3])
        }
        guard waiting.count > maximumWaiting else { return }
        for time in waiting.keys.sorted().prefix(waiting.count - maximumWaiting) { waiting[time] = nil }
    }

    private func describe(_ sensors: String) -> String {
        "Sensor Logger, \(sensors); \(PhonePlatform.signs(on: platform))"
    }
}
