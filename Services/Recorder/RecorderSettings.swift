import RecorderCore
package import Recording
package import ServiceKit

/// What a recorder reads besides `ServiceSettings`.
package struct RecorderSettings: SettingGroup {
    @Setting(listeningTo: .sensorPublisher, "Listen to this publisher; may be repeated.")
    package var subscribe: [Endpoint]

    @Setting(
        "Make data durable this often, 10ms to 200ms.",
        accepting: { $0 >= .milliseconds(10) && $0 <= .milliseconds(200) },
        otherwise: "10ms to 200ms, what a power cut may cost")
    package var syncInterval = TimeSpan.milliseconds(100)

    @Setting("Ask a silent publisher for missing samples this long.")
    package var recoveryLimit = TimeSpan.seconds(10)

    /// Of all streams together.
    @Setting("Hold at most this much in memory while missing samples are requested.")
    package var holdLimit = ByteCount(bytes: 64_000_000)

    @Setting("Stop sessions before less than this is free on the disk.", default: "0, no such limit")
    package var minimumFree = ByteCount(bytes: 0)

    @Setting("Take only this part of the devices: 2/3 for the second of three.", valueName: "k/n")
    package var shard: Shard?

    @Setting(asking: .logManager, "Ask this log-manager how logs are to be written.")
    package var logManager: Endpoint

    @Setting("Let a recording's start wait for log-manager this long.")
    package var logManagerLimit = TimeSpan.milliseconds(300)

    /// Beyond them the network is no longer read.
    @Setting(
        "Let this many messages of each publisher wait in the socket.", accepting: { $0 > 0 }, otherwise: "1 or more")
    package var receiveHighWaterMark = 3_000

    package init() {}
}

extension Recordings.Settings {
    init(_ settings: RecorderSettings) {
        self.init(
            syncInterval: settings.syncInterval.nanoseconds, recoveryLimit: settings.recoveryLimit.nanoseconds,
            holdLimit: settings.holdLimit.bytes, minimumFree: settings.minimumFree.bytes, shard: settings.shard)
    }
}
