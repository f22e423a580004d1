import Messages
package import ServiceKit

/// What log-manager reads besides `ServiceSettings`.
package struct LogManagerSettings: SettingGroup {
    @Setting(listeningTo: .recorder, "Listen to this recorder; may be repeated.")
    package var subscribe: [Endpoint]

    @Setting("Say so when files that are not uploaded exceed this.", default: "as it was set last")
    var pendingThreshold: ByteCount?

    @Setting("Say so when all finished files exceed this.", default: "as it was set last")
    var totalThreshold: ByteCount?

    @Setting("Say so when less than this is free on the disk.", default: "as it was set last")
    var minimumFree: ByteCount?

    @Setting("Remove where --total-threshold or --minimum-free is crossed: nothing, uploaded-only or oldest.")
    var whenFull = RetentionPolicy.nothing

    @Setting(
        "Compare the disk with the catalog this often.", accepting: { $0 >= .seconds(1) },
        otherwise: "1s or more, it looks at every file")
    var rescanInterval = TimeSpan.seconds(300)

    package init() {}

    /// Thresholds that were given, 0 for none; the others stay as they were set last.
    var thresholds: LogsSetThresholds {
        LogsSetThresholds(
            pendingUploadBytes: pendingThreshold?.bytes, totalBytes: totalThreshold?.bytes,
            minimumFreeBytes: minimumFree?.bytes)
    }
}
