import Messages
package import ServiceKit
package import StepCounterCore
import StepDetection

/// The settings of a step-counter besides `ServiceSettings`: options, and `devices` in the configuration file, objects with
/// `device` and `placement`, `unit` or `stride-length`.
package struct StepCounterSettings: SettingGroup {
    @Setting(listeningTo: .sensorPublisher, "Subscribe to this publisher; may be repeated.")
    package var subscribe: [Endpoint]

    /// Without it, discarded sessions are noticed within a minute.
    @Setting(listeningTo: .recorder, "Subscribe to this recorder for discarded sessions; may be repeated.")
    var recorder: [Endpoint]

    /// A device is counted in one of these streams.
    @Setting("Count steps in streams of this name; may be repeated.", name: "stream", valueName: "name")
    var streams = ["accelerometer"]

    /// Without it, a stream without a unit is not counted.
    @Setting("The unit of streams that do not name theirs: g or m/s2.")
    var unit: AccelerationUnit?

    @Setting("Where devices are worn: unknown, phone or wrist.")
    var placement = SensorPlacement.unknown

    @Setting("Strictness of walking detection: lenient, normal or strict.")
    var strictness = StepStrictness.normal

    /// Without it, there are no distances.
    @Setting(
        "Compute distances with this stride length; a stride is two steps.", valueName: "metres",
        accepting: { (0.1...5).contains($0) }, otherwise: "the metres of two steps, such as 1.4")
    var strideLength: Double?

    @Setting(
        "Keep the history of steps this long.", accepting: { $0 >= .seconds(1) },
        otherwise: "how long to keep steps, such as 7d")
    var keep = TimeSpan.seconds(7 * 86_400)

    @Setting(
        "Count steps of at most this many devices.", valueName: "count", accepting: { $0 > 0 }, otherwise: "1 or more")
    var maximumDevices = 10_000

    @Setting("Give up missing samples if a publisher that is heard does not answer for this long.")
    var recoveryLimit = TimeSpan.seconds(10)

    /// For all devices together.
    @Setting("Hold at most this many bytes in memory while missing samples are requested.")
    var holdLimit = ByteCount(bytes: 64_000_000)

    /// When a suspended client continues, it receives what was published up to a quarter more than this time after its
    /// suspension: less than half a second. Four heartbeats in this time stay within the limit of `PeerLimits`.
    @Setting(
        "Disconnect a client that shows no sign of life for this long, such as a suspended one.",
        accepting: { $0 >= .milliseconds(360) }, otherwise: "360ms or more")
    package var clientSilence = TimeSpan.milliseconds(360)

    /// Beyond this number, the network is no longer read.
    @Setting(
        "Queue at most this many messages from each publisher.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1 or more")
    var receiveHighWaterMark = 10_000

    private var devices: [String: StepCounting.Settings.Device] = [:]

    package init() {}

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        if let name = streams.first(where: { StreamName("device/\($0)") == nil }) {
            throw ServiceError(
                .badConfiguration, "stream '\(name)' is not a stream's name: write accelerometer, without a device")
        }
        for section in try reader.sections("devices") {
            guard let name = try section.value("device", as: String.self) else {
                throw ServiceError(
                    .badConfiguration, "an object in \"devices\" does not name its \"device\"")
            }
            devices[name] = StepCounting.Settings.Device(
                placement: try section.given(\Self.$placement), unit: try section.value(\Self.$unit),
                strideLength: try section.value(\Self.$strideLength))
        }
    }

    /// The settings for the core.
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
