import LogManagerCore
import Messages
package import ServiceKit

/// The settings of log-manager besides `ServiceSettings`.
package struct LogManagerSettings: SettingGroup {
    @Setting(listeningTo: .recorder, "Subscribe to this recorder; may be repeated.")
    package var subscribe: [Endpoint]

    @Setting("Warn when unuploaded files exceed this size.", default: "as last set")
    var pendingThreshold: ByteCount?

    @Setting("Warn when all finished files exceed this size.", default: "as last set")
    var totalThreshold: ByteCount?

    @Setting("Warn when free disk space falls below this size.", default: "as last set")
    var minimumFree: ByteCount?

    @Setting("Remove files when --total-threshold or --minimum-free is crossed: nothing, uploaded-only or oldest.")
    var whenFull = RetentionPolicy.nothing

    @Setting("Finish stream files at this size, unless a rule for their log says otherwise; 0 for never.")
    var maximumFileSize = ByteCount(bytes: LogConfiguration.defaultMaximumFileSize)

    @Setting(
        "Finish stream files after this long, unless a rule for their log says otherwise; 0s for never.",
        accepting: { $0 == .seconds(0) || $0 >= .seconds(1) }, otherwise: "1s or more, or 0s")
    var maximumFileAge = TimeSpan.seconds(Int64(LogConfiguration.defaultMaximumFileAge))

    @Setting(
        "Compare the disk with the catalog this often.", accepting: { $0 >= .seconds(1) },
        otherwise: "1s or more: it looks at every file each time")
    var rescanInterval = TimeSpan.seconds(300)

    package init() {}

    /// The settings of the core. Thresholds that are not given keep their last value; 0 means none.
    var core: StreamFiles.Settings {
        let thresholds = LogsSetThresholds(
            pendingUploadBytes: pendingThreshold?.bytes, totalBytes: totalThreshold?.bytes,
            minimumFreeBytes: minimumFree?.bytes)
        return StreamFiles.Settings(
            thresholds: thresholds, whenFull: whenFull, rescanInterval: rescanInterval.nanoseconds,
            maximumFileSize: maximumFileSize.bytes, maximumFileAge: Double(maximumFileAge.nanoseconds) / 1e9)
    }
}
