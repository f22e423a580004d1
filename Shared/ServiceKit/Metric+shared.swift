package import Metrics

/// What several programs say of what they have in common.
extension Metric {
    /// Bytes free on the disk of the data directory.
    package static let freeBytes = Metric(
        .gauge, "holdfast_disk_free_bytes", "Bytes that are free on the disk of the data directory.")
}
