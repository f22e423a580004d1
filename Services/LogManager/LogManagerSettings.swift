import LogManagerCore
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

    /// What the core reads of them. Thresholds that were not given stay as they were set last; 0 is none.
    var core: StreamFiles.Settings {
        let thresholds = LogsSetThresholds(
            pendingUploadBytes: pendingThreshold?.bytes, totalBytes: totalThreshold?.bytes,
            minimumFreeBytes: minimumFree?.bytes)
        return StreamFiles.Settings(
            thresholds: thresholds, whenFull: whenFull, rescanInterval: rescanInterval.nanoseconds)
    }
}
