import Messages
package import ServiceKit

/// What log-manager reads besides `ServiceConfiguration`.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `subscribe` | the recorders to listen to | endpoints | `tcp://127.0.0.1:5560` |
/// | `pending-threshold` | the threshold of files that are not uploaded | size, 0 for none | as it was set last |
/// | `total-threshold` | the threshold of all files | size, 0 for none | as it was set last |
/// | `minimum-free` | the threshold of room on the disk | size, 0 for none | as it was set last |
/// | `when-full` | what goes where a threshold of all files or of room is crossed | `nothing`, `uploaded-only`, `oldest` | `nothing` |
/// | `rescan-interval` | how often the disk is compared with the catalog | duration | 5 min |
package struct LogManagerSettings: Sendable {
    /// The recorders to listen to.
    package let subscribe: [Endpoint]
    /// Thresholds that were given; the others stay as they were set last.
    let thresholds: LogsSetThresholds
    /// What is removed where there is too much.
    let whenFull: RetentionPolicy
    /// How often the disk is compared with the catalog.
    let rescanInterval: TimeSpan

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration).
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        subscribe = try reader.subscribe(to: .recorder)
        thresholds = LogsSetThresholds(
            pendingUploadBytes: try reader.value("pending-threshold", as: ByteCount.self)?.bytes,
            totalBytes: try reader.value("total-threshold", as: ByteCount.self)?.bytes,
            minimumFreeBytes: try reader.value("minimum-free", as: ByteCount.self)?.bytes)
        whenFull = try reader.value("when-full", default: .nothing)
        rescanInterval = try reader.value("rescan-interval", default: .seconds(300))
        guard rescanInterval >= .seconds(1) else {
            throw ServiceError(
                .badConfiguration, "rescan-interval is \(rescanInterval): write 1s or more, it looks at every file")
        }
    }
}
