import RecorderCore
package import Recording
package import ServiceKit

/// What a recorder reads besides `ServiceConfiguration`.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `subscribe` | the publishers to listen to | endpoints | `tcp://127.0.0.1:5550` |
/// | `sync-interval` | how often what was written is made durable | duration, 10 ms to 200 ms | 100 ms |
/// | `recovery-limit` | how long a publisher that does not answer is asked for missing samples | duration | 10 s |
/// | `hold-limit` | how much may wait in memory, of all streams together, while missing samples are replayed | size | 64 MB |
/// | `minimum-free` | what must stay free on the disk: sessions stop before it is used | size, 0 for none | 0 |
/// | `shard` | which part of the devices it takes, of how many | `2/3` for the second of three | all of them |
/// | `log-manager` | who says how logs are to be written | endpoint | `tcp://127.0.0.1:5581` |
/// | `log-manager-limit` | how long a recording's start may wait for it | duration | 300 ms |
/// | `receive-high-water-mark` | messages that wait in the socket per publisher before the network is no longer read | messages | 3000 |
package struct RecorderSettings: Sendable {
    package let subscribe: [Endpoint]
    package let syncInterval: TimeSpan
    package let recoveryLimit: TimeSpan
    package let holdLimit: Int
    package let minimumFree: Int
    package let shard: Shard?
    package let logManager: Endpoint
    package let logManagerLimit: TimeSpan
    package let receiveHighWaterMark: Int

    /// - Throws: `ServiceError` (bad configuration).
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        subscribe = try reader.subscribe(to: .sensorPublisher)
        syncInterval = try reader.value("sync-interval", default: TimeSpan.milliseconds(100))
        guard syncInterval >= .milliseconds(10), syncInterval <= .milliseconds(200) else {
            throw ServiceError(
                .badConfiguration, "sync-interval is \(syncInterval): write 10ms to 200ms, what a power cut may cost")
        }
        recoveryLimit = try reader.value("recovery-limit", default: TimeSpan.seconds(10))
        holdLimit = try reader.value("hold-limit", default: ByteCount(bytes: 64_000_000)).bytes
        minimumFree = try reader.value("minimum-free", default: ByteCount(bytes: 0)).bytes
        shard = try reader.value("shard", as: Shard.self)
        logManager = try reader.reply(of: .logManager)
        logManagerLimit = try reader.value("log-manager-limit", default: TimeSpan.milliseconds(300))
        receiveHighWaterMark = try reader.value("receive-high-water-mark", default: 3_000)
        guard receiveHighWaterMark > 0 else {
            throw ServiceError(.badConfiguration, "receive-high-water-mark is \(receiveHighWaterMark): write 1 or more")
        }
    }
}

extension Recordings.Settings {
    init(_ settings: RecorderSettings) {
        self.init(
            syncInterval: settings.syncInterval.nanoseconds, recoveryLimit: settings.recoveryLimit.nanoseconds,
            holdLimit: settings.holdLimit, minimumFree: settings.minimumFree, shard: settings.shard)
    }
}
