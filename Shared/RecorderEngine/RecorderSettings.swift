import ArgumentParser
import RecorderCore
package import Recording
package import ServiceKit
package import SystemPackage

/// Settings of a recorder, in addition to `ServiceSettings`.
package struct RecorderSettings: SettingGroup {
    @Setting(listeningTo: .sensorPublisher, "Subscribe to this publisher; may be repeated.")
    package var subscribe: [Endpoint]

    @Setting(
        "Commit to disk at least this often, 10ms to 200ms.",
        accepting: { $0 >= .milliseconds(10) && $0 <= .milliseconds(200) },
        otherwise: "10ms to 200ms; a power cut may cost this much")
    package var syncInterval = TimeSpan.milliseconds(100)

    @Setting("Give up missing samples if a publisher that is heard does not answer for this long.")
    package var recoveryLimit = TimeSpan.seconds(10)

    /// For all streams together.
    @Setting("Hold at most this many bytes in memory while missing samples are requested.")
    package var holdLimit = ByteCount(bytes: 64_000_000)

    @Setting("Stop sessions when free disk space falls below this size.", default: "0, no such limit")
    package var minimumFree = ByteCount(bytes: 0)

    @Setting(
        "Discard a session this long after its upload was confirmed: 30d.", valueName: "time",
        default: "never")
    package var keepSessions: TimeSpan?

    @Setting(
        "At a stop, finish all sessions, or leave them to be continued at the next start: finish or continue.")
    package var onStop = StopAction.finish

    @Setting(
        "Write a report page of each ended session to this directory; see the subcommand report.", valueName: "dir")
    package var reports: FilePath?

    @Setting("Record only this part of the devices: 2/3 is the second of three.", valueName: "k/n")
    package var shard: Shard?

    @Setting(asking: .logManager, "Request the configuration of stream files from this log-manager.")
    package var logManager: Endpoint

    @Setting("Wait at most this long for log-manager when a recording starts.")
    package var logManagerLimit = TimeSpan.milliseconds(300)

    /// Beyond this, the network is not read.
    @Setting(
        "Queue at most this many messages from each publisher.", accepting: { $0 > 0 }, otherwise: "1 or more")
    package var receiveHighWaterMark = 3_000

    package init() {}
}

/// What a recorder does with its sessions on a stop signal.
package enum StopAction: String, CaseIterable, Sendable {
    /// Each session ends, with its report.
    case finish
    /// Each session stays open, and the next recorder resumes it, as after a kill.
    case `continue`
}

extension StopAction: ConfigurationValue, ExpressibleByArgument {}

extension Recordings.Settings {
    init(_ settings: RecorderSettings) {
        self.init(
            syncInterval: settings.syncInterval.nanoseconds, recoveryLimit: settings.recoveryLimit.nanoseconds,
            holdLimit: settings.holdLimit.bytes, minimumFree: settings.minimumFree.bytes, shard: settings.shard,
            keepSessions: settings.keepSessions?.nanoseconds)
    }
}
