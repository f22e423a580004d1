package import Messages
package import Metrics

/// What several programs say of what they have in common.
extension Metric {
    /// Bytes free on the disk of the data directory.
    package static let freeBytes = Metric(
        .gauge, "holdfast_disk_free_bytes", "Bytes that are free on the disk of the data directory.")

    /// The labels of what is told of each stream: `MetricsPage.add(_:_:of:)` gives their values.
    package static let streamLabels = ["device", "stream"]
}

extension MetricsPage {
    /// Adds a value of a stream.
    package mutating func add(_ metric: Metric, _ value: Double, of stream: StreamName) {
        add(metric, value, stream.device, stream.stream)
    }

    /// Adds a count of a stream.
    package mutating func add(_ metric: Metric, _ count: Int, of stream: StreamName) {
        add(metric, Double(count), of: stream)
    }
}
