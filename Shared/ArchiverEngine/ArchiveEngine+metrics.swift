import ArchiveStorage
import ArchiverCore
import Files
import Metrics
import Recording
import Runtime
import ServiceKit
import SystemPackage

extension Metric {
    fileprivate static let queued = Metric(
        .gauge, "holdfast_archiver_queued_sessions", "Sessions with work left, by the next step.",
        labels: ["lane"], health: "queuedSessions")
    fileprivate static let working = Metric(
        .gauge, "holdfast_archiver_working_sessions", "Sessions being worked on.", labels: ["lane"])
    fileprivate static let failed = Metric(
        .gauge, "holdfast_archiver_failed_sessions",
        "Sessions whose last step failed.",
        labels: ["kind"])
    fileprivate static let failures = Metric(
        .counter, "holdfast_archiver_failures_total", "Failures, by what failed.", labels: ["kind"])
    fileprivate static let made = Metric(
        .counter, "holdfast_archiver_archives_made_total", "Archives that were made.")
    fileprivate static let madeBytes = Metric(
        .counter, "holdfast_archiver_archive_bytes_made_total", "Bytes of the archives that were made.")
    fileprivate static let uploaded = Metric(
        .counter, "holdfast_archiver_archives_uploaded_total",
        "Archives whose size and hash the receiver confirmed.")
    fileprivate static let uploadedBytes = Metric(
        .counter, "holdfast_archiver_archive_bytes_uploaded_total", "Bytes of the archives that the receiver confirmed."
    )
    fileprivate static let retries = Metric(
        .counter, "holdfast_archiver_upload_retries_total", "Uploads that were retried.")
    fileprivate static let receipts = Metric(
        .counter, "holdfast_archiver_receipts_total", "Receipts that were written.")
    fileprivate static let marked = Metric(
        .counter, "holdfast_archiver_marked_files_total", "Stream files that log-manager marked as uploaded.")
    fileprivate static let archives = Metric(
        .gauge, "holdfast_archiver_archives", "Archives on the disk.")
    fileprivate static let archiveBytes = Metric(
        .gauge, "holdfast_archiver_archive_bytes", "Bytes of the archives on the disk.")
}

/// The metrics of the archiver.
extension ArchiveEngine {
    func measure() {
        for lane in ArchiveLane.allCases {
            let (waiting, working) = core.counts(in: lane)
            health.measure(.queued, waiting + working, "\(lane)")
            health.measure(.working, working, "\(lane)")
        }
        health.measure(.failed, core.failedSessions(isRefusal: false), "archiving")
        health.measure(.failed, core.failedSessions(isRefusal: true), "delivery")
        let totals = core.totals
        health.measure(.failures, totals.failures, "archiving")
        health.measure(.failures, totals.refusals, "delivery")
        health.measure(.made, totals.made.archives)
        health.measure(.madeBytes, totals.made.bytes)
        health.measure(.uploaded, totals.uploaded.archives)
        health.measure(.uploadedBytes, totals.uploaded.bytes)
        health.measure(.retries, totals.uploadRetries)
        health.measure(.receipts, totals.receipts)
        health.measure(.marked, totals.markedFiles)
    }

    var metrics: MetricsPage {
        var page = MetricsPage()
        // Read from disk, because other archivers use the same directory.
        if let usage = try? folder.usage() {
            page.add(.archives, usage.archives)
            page.add(.archiveBytes, usage.bytes)
        }
        if let bytes = try? Directory(folder.data).freeBytes() { page.add(.freeBytes, bytes) }
        return page
    }
}
