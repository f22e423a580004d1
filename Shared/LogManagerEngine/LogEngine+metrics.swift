import LogManagerCore
import LogStorage
import Metrics
import Runtime
import ServiceKit

extension Metric {
    fileprivate static let pendingBytes = Metric(health: "pendingUploadBytes")
    fileprivate static let totalBytes = Metric(health: "totalBytes")
    fileprivate static let files = Metric(
        .gauge, "holdfast_log_manager_files", "Finished stream files, by whether their upload is pending or confirmed.",
        labels: ["upload"])
    fileprivate static let bytes = Metric(
        .gauge, "holdfast_log_manager_bytes",
        "Bytes of finished stream files, by whether their upload is pending or confirmed.",
        labels: ["upload"])
    fileprivate static let logs = Metric(.gauge, "holdfast_log_manager_logs", "Logs that have finished files.")
    fileprivate static let threshold = Metric(
        .gauge, "holdfast_log_manager_threshold_bytes", "Thresholds that are set; 0 for none.", labels: ["threshold"])
    fileprivate static let excess = Metric(
        .gauge, "holdfast_log_manager_excess_bytes",
        "Bytes to remove until no threshold of all files or of free space is crossed.")
    fileprivate static let removed = Metric(
        .counter, "holdfast_log_manager_removed_files_total", "Removed files, by reason.", labels: ["reason"])
    fileprivate static let removedBytes = Metric(
        .counter, "holdfast_log_manager_removed_bytes_total", "Bytes of removed files, by reason.",
        labels: ["reason"])
    fileprivate static let marked = Metric(
        .counter, "holdfast_log_manager_marked_files_total", "Files marked as uploaded.")
    fileprivate static let waiting = Metric(
        .gauge, "holdfast_log_manager_waiting_removals", "Removals waiting for the running one.",
        health: "waitingRemovals")
}

extension LogEngine {
    func measure() {
        let total = catalog.usage.total
        health.measure(.pendingBytes, catalog.usage.pendingBytes)
        health.measure(.totalBytes, catalog.usage.totalBytes)
        health.measure(.files, total.pendingFiles, "pending")
        health.measure(.files, total.files - total.pendingFiles, "confirmed")
        health.measure(.bytes, total.pendingBytes, "pending")
        health.measure(.bytes, total.bytes - total.pendingBytes, "confirmed")
        health.measure(.logs, catalog.usage.logs.count)
        for kind in Threshold.Kind.allCases {
            health.measure(.threshold, catalog.thresholds[keyPath: kind.limit], kind.rawValue)
        }
        health.measure(.excess, core.bytesToFree)
        for reason in RemovalReason.allCases {
            let removed = core.removedUsage[reason] ?? LogUsage()
            health.measure(.removed, removed.files, reason.rawValue)
            health.measure(.removedBytes, removed.bytes, reason.rawValue)
        }
        health.measure(.marked, core.markedFiles)
        health.measure(.waiting, core.waitingRemovals)
        health.measure(.freeBytes, core.freeBytes)
    }
}
