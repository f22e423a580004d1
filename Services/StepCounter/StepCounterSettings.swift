import Messages
package import ServiceKit
package import StepCounterCore
import StepDetection

/// What step-counter reads besides `ServiceSettings`: options, and `devices` in the configuration file, objects with `device`
/// and `placement`, `unit` or `stride-length`.
package struct StepCounterSettings: SettingGroup {
    @Setting(listeningTo: .sensorPublisher, "Listen to this publisher; may be repeated.")
    package var subscribe: [Endpoint]

    /// A device is counted in one of them.
    @Setting("Count steps in streams of this name; may be repeated.", name: "stream", valueName: "name")
    var streams = ["accelerometer"]

    /// Without it, a stream that does not say its unit is not counted.
    @Setting("Take streams that don't say their unit to be in this one: g or m/s2.")
    var unit: AccelerationUnit?

    @Setting("Where devices are worn: unknown, phone or wrist.")
    var placement = SensorPlacement.unknown

    @Setting("How much must speak for walking: lenient, normal or strict.")
    var strictness = StepStrictness.normal

    /// Without it, there are no distances.
    @Setting(
        "Tell distances by this length of a stride, which is two steps.", valueName: "metres",
        accepting: { (0.1...5).contains($0) }, otherwise: "the metres of two steps, 1.4 say")
    var strideLength: Double?

    @Setting(
        "Keep the history of steps this long.", accepting: { $0 >= .seconds(1) },
        otherwise: "how long steps are to be known, 7d say")
    var keep = TimeSpan.seconds(7 * 86_400)

    @Setting(
        "Count at most so many devices.", valueName: "count", accepting: { $0 > 0 }, otherwise: "1 or more")
    var maximumDevices = 10_000

    @Setting("Ask a silent publisher for missing samples this long.")
    var recoveryLimit = TimeSpan.seconds(10)

    /// Of all devices together.
    @Setting("Let this much wait in memory while samples are asked for.")
    var holdLimit = ByteCount(bytes: 64_000_000)

    /// Beyond them the network is no longer read.
    @Setting(
        "Let this many messages wait in the socket per publisher.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1 or more")
    var receiveHighWaterMark = 10_000

    private var devices: [String: StepCounting.Settings.Device] = [:]

    package init() {}

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        if let name = streams.first(where: { StreamName("device/\($0)") == nil }) {
            throw ServiceError(
                .badConfiguration, "stream '\(name)' is no stream's name: write accelerometer, without a device")
        }
        for section in try reader.sections("devices") {
            guard let name = try section.value("device", as: String.self) else {
                throw ServiceError(
                    .badConfiguration, "an object in \"devices\" does not say which \"device\" it is about")
            }
            devices[name] = StepCounting.Settings.Device(
                placement: try section.given(\Self.$placement), unit: try section.value(\Self.$unit),
                strideLength: try section.value(\Self.$strideLength))
        }
    }

    /// What the core reads of them.
    package var counting: StepCounting.Settings {
        var counting = StepCounting.Settings(
            publishers: subscribe.map(\.description).joined(separator: ", "), streams: streams, keep: keep.nanoseconds,
            maximumDevices: maximumDevices, holdLimit: holdLimit.bytes)
        counting.common = StepCounting.Settings.Device(placement: placement, unit: unit, strideLength: strideLength)
        counting.devices = devices
        counting.strictness = strictness
        return counting
    }
}
