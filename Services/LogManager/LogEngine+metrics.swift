import LogManagerCore
import LogStorage
import Metrics
import ServiceKit

extension Metric {
    fileprivate static let files = Metric(
        .gauge, "holdfast_log_manager_files", "Finished log files, by whether their upload is pending or confirmed.",
        labels: ["upload"])
    fileprivate static let bytes = Metric(
        .gauge, "holdfast_log_manager_bytes",
        "Bytes of finished log files, by whether their upload is pending or confirmed.",
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
        .gauge, "holdfast_log_manager_waiting_removals", "Removals waiting for the running one.")
}

/// What it counts, for those who watch it.
extension LogEngine {
    var metrics: MetricsPage {
        var page = MetricsPage()
        let total = catalog.usage.total
        page.add(.files, total.pendingFiles, "pending")
        page.add(.files, total.files - total.pendingFiles, "confirmed")
        page.add(.bytes, total.pendingBytes, "pending")
        page.add(.bytes, total.bytes - total.pendingBytes, "confirmed")
        page.add(.logs, catalog.usage.logs.count)
        for kind in Threshold.Kind.allCases {
            page.add(.threshold, catalog.thresholds[keyPath: kind.limit], kind.rawValue)
        }
        page.add(.excess, core.bytesToFree)
        for reason in RemovalReason.allCases {
            let removed = core.removedUsage[reason] ?? LogUsage()
            page.add(.removed, removed.files, reason.rawValue)
            page.add(.removedBytes, removed.bytes, reason.rawValue)
        }
        page.add(.marked, core.markedFiles)
        page.add(.waiting, core.waitingRemovals)
        if let freeBytes = core.freeBytes { page.add(.freeBytes, freeBytes) }
        return page
    }
}
