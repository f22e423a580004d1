import Messages
package import ServiceKit
import StepDetection

/// What step-counter reads besides `ServiceConfiguration`.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `subscribe` | the publishers to listen to | endpoints | `tcp://127.0.0.1:5550` |
/// | `stream` | the names of streams that steps are counted in; a device is counted in one of its streams | names | `accelerometer` |
/// | `unit` | what accelerations are measured in whose stream does not say it | `g`, `m/s2` | none: such a stream is not counted |
/// | `placement` | where devices are worn | `unknown`, `phone`, `wrist` | `unknown` |
/// | `strictness` | how much must speak for walking | `lenient`, `normal`, `strict` | `normal` |
/// | `stride-length` | the length of a stride, that is of two steps | metres | none: no distances |
/// | `devices` | settings for single devices, in the configuration file only: objects with `device`, and `placement`, `unit` or `stride-length` | | none |
/// | `keep` | how old steps in the history may get | duration | 7 d |
/// | `maximum-devices` | how many devices are counted | devices | 10000 |
/// | `recovery-limit` | how long a publisher that does not answer is asked for missing samples | duration | 10 s |
/// | `hold-limit` | how much may wait in memory, over all devices, while missing samples are asked for | size | 64 MB |
/// | `receive-high-water-mark` | messages that wait in the socket per publisher before the network is no longer read | messages | 10000 |
package struct StepCounterSettings: Sendable {
    /// What is said of one device.
    struct Device: Sendable {
        var placement: SensorPlacement?
        var unit: AccelerationUnit?
        var strideLength: Double?
    }

    /// The publishers to listen to.
    let subscribe: [Endpoint]
    /// The names of streams that steps are counted in.
    let streams: [String]
    /// What is said of all devices.
    let common: Device
    let strictness: StepStrictness
    /// How old steps in the history may get.
    let keep: TimeSpan
    let maximumDevices: Int
    /// How long a publisher that does not answer is asked for missing samples.
    let recoveryLimit: TimeSpan
    /// How many bytes may wait in memory while missing samples are asked for.
    let holdLimit: Int
    /// Messages that wait in the socket per publisher.
    let receiveHighWaterMark: Int
    private let devices: [String: Device]

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration).
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        subscribe = try reader.subscribe(to: .sensorPublisher)
        let streams = try reader.values("stream", as: String.self)
        self.streams = streams.isEmpty ? ["accelerometer"] : streams
        if let name = self.streams.first(where: { StreamName("device/\($0)") == nil }) {
            throw ServiceError(
                .badConfiguration, "stream '\(name)' is no stream's name: write accelerometer, without a device")
        }
        common = try Device(reading: reader)
        strictness = try reader.value("strictness", default: .normal)
        var devices: [String: Device] = [:]
        for section in try reader.sections("devices") {
            guard let name = try section.value("device", as: String.self) else {
                throw ServiceError(
                    .badConfiguration, "an object in \"devices\" does not say which \"device\" it is about")
            }
            devices[name] = try Device(reading: section)
        }
        self.devices = devices
        keep = try reader.value("keep", default: TimeSpan.seconds(7 * 86_400))
        maximumDevices = try reader.value("maximum-devices", default: 10_000)
        recoveryLimit = try reader.value("recovery-limit", default: TimeSpan.seconds(10))
        holdLimit = try reader.value("hold-limit", default: ByteCount(bytes: 64_000_000)).bytes
        receiveHighWaterMark = try reader.value("receive-high-water-mark", default: 10_000)
        for (key, value) in [("maximum-devices", maximumDevices), ("receive-high-water-mark", receiveHighWaterMark)]
        where value < 1 {
            throw ServiceError(.badConfiguration, "\(key) is \(value): write 1 or more")
        }
        guard keep >= .seconds(1) else {
            throw ServiceError(.badConfiguration, "keep is \(keep): write how long steps are to be known, 7d say")
        }
    }

    /// What is said of a device, by name or for all.
    func device(_ name: String) -> Device {
        let own = devices[name]
        return Device(
            placement: own?.placement ?? common.placement, unit: own?.unit ?? common.unit,
            strideLength: own?.strideLength ?? common.strideLength)
    }

    /// How steps are detected in a stream whose unit is known.
    func detector(of device: String, unit: AccelerationUnit) -> StepDetectorSettings {
        StepDetectorSettings(
            perG: unit.perG, placement: self.device(device).placement ?? .unknown, strictness: strictness)
    }
}

extension StepCounterSettings.Device {
    fileprivate init(reading reader: ConfigurationReader) throws(ServiceError) {
        placement = try reader.value("placement", as: SensorPlacement.self)
        unit = try reader.value("unit", as: AccelerationUnit.self)
        strideLength = try reader.value("stride-length", as: Double.self)
        if let strideLength, !(0.1...5).contains(strideLength) {
            throw ServiceError(
                .badConfiguration,
                "stride-length is \(strideLength): write the metres of two steps, 1.4 say")
        }
    }
}
