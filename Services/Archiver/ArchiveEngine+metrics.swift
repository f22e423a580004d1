import Files
import Metrics
import Recording
import ServiceKit
import Synchronization

extension Metric {
    fileprivate static let queued = Metric(
        .gauge, "holdfast_archiver_queued_sessions", "Sessions for which something is to be done, by what is next.",
        labels: ["lane"])
    fileprivate static let working = Metric(
        .gauge, "holdfast_archiver_working_sessions", "Of those, the ones that are being worked on.", labels: ["lane"])
    fileprivate static let failed = Metric(
        .gauge, "holdfast_archiver_failed_sessions",
        "Sessions with which something went wrong that has not gone right since.",
        labels: ["kind"])
    fileprivate static let failures = Metric(
        .counter, "holdfast_archiver_failures_total", "How often something went wrong.", labels: ["kind"])
    fileprivate static let made = Metric(
        .counter, "holdfast_archiver_archives_made_total", "Archives that were made.")
    fileprivate static let madeBytes = Metric(
        .counter, "holdfast_archiver_archive_bytes_made_total", "Bytes of the archives that were made.")
    fileprivate static let uploaded = Metric(
        .counter, "holdfast_archiver_archives_uploaded_total",
        "Archives of which the receiver confirmed size and hash.")
    fileprivate static let uploadedBytes = Metric(
        .counter, "holdfast_archiver_archive_bytes_uploaded_total", "Bytes of the archives that the receiver confirmed."
    )
    fileprivate static let retries = Metric(
        .counter, "holdfast_archiver_upload_retries_total", "Uploads that were begun or gone on with once more.")
    fileprivate static let receipts = Metric(
        .counter, "holdfast_archiver_receipts_total", "Receipts that were written.")
    fileprivate static let marked = Metric(
        .counter, "holdfast_archiver_marked_files_total", "Log files that log-manager marked as uploaded.")
    fileprivate static let archives = Metric(
        .gauge, "holdfast_archiver_archives", "Archives on the disk.")
    fileprivate static let archiveBytes = Metric(
        .gauge, "holdfast_archiver_archive_bytes", "Bytes of the archives on the disk.")
}

/// What it counts, for those who watch it.
extension ArchiveEngine {
    /// What was done since the program's start.
    struct Totals {
        var made = (archives: 0, bytes: 0)
        var uploaded = (archives: 0, bytes: 0)
        var receipts = 0
        var markedFiles = 0
        var failures = 0
        var refusals = 0
    }

    var metrics: MetricsPage {
        var page = MetricsPage()
        for lane in ArchiveLane.allCases {
            let (waiting, working) = queue.counts(in: lane)
            page.add(.queued, waiting + working, "\(lane)")
            page.add(.working, working, "\(lane)")
        }
        let failed = queue.failed
        page.add(.failed, failed.count { !$0.failure.isRefusal }, "archiving")
        page.add(.failed, failed.count { $0.failure.isRefusal }, "delivery")
        page.add(.failures, totals.failures, "archiving")
        page.add(.failures, totals.refusals, "delivery")
        page.add(.made, totals.made.archives)
        page.add(.madeBytes, totals.made.bytes)
        page.add(.uploaded, totals.uploaded.archives)
        page.add(.uploadedBytes, totals.uploaded.bytes)
        page.add(.retries, uploadRetries.load(ordering: .relaxed))
        page.add(.receipts, totals.receipts)
        page.add(.marked, totals.markedFiles)
        // Others archive into the same directory, so this is looked up.
        if let usage = try? folder.usage() {
            page.add(.archives, usage.archives)
            page.add(.archiveBytes, usage.bytes)
        }
        if let bytes = try? Directory(folder.data).freeBytes() { page.add(.freeBytes, bytes) }
        return page
    }
}
