import MessageBus
import Messages
import Metrics
import PublisherCore
import SampleSources
import Runtime
import ServiceKit
import ZeroMQ

extension Metric {
    fileprivate static let samplesPublished = Metric(health: "samplesPublished")
    fileprivate static let latenessMaximum = Metric(health: "latenessMaximumSeconds")
    fileprivate static let connectionsAccepted = Metric(health: "connectionsAccepted")
    fileprivate static let connectionsEnded = Metric(health: "connectionsEnded")
    fileprivate static let samples = Metric(
        .counter, "holdfast_publisher_samples_total", "Samples that were published.", labels: streamLabels)
    fileprivate static let batches = Metric(
        .counter, "holdfast_publisher_batches_total", "Batches that were published.", health: "batchesPublished")
    fileprivate static let lateness = Metric(
        .histogram, "holdfast_publisher_lateness_seconds",
        "Time from a batch's last sample, as scheduled, until the batch was published.",
        health: "lateness")
    fileprivate static let behind = Metric(
        .gauge, "holdfast_publisher_behind_seconds", "Time by which a stream is behind its schedule.",
        labels: streamLabels)
    fileprivate static let streams = Metric(
        .gauge, "holdfast_publisher_streams", "Streams by their state.", labels: ["state"])
    fileprivate static let retained = Metric(
        .gauge, "holdfast_publisher_retained_bytes", "Memory of the batches that are kept for replay.",
        health: "retainedBytes")
    fileprivate static let replayed = Metric(
        .counter, "holdfast_publisher_replayed_samples_total", "Samples sent in replays.")
    fileprivate static let pushed = Metric(
        .counter, "holdfast_publisher_pushed_messages_total",
        "Messages that clients pushed, by result: accepted, repeated or refused.", labels: ["result"])
    fileprivate static let dropped = Metric(
        .counter, "holdfast_publisher_dropped_datagrams_total",
        "Datagrams that the system dropped because they were not read in time.")
    fileprivate static let malformed = Metric(
        .counter, "holdfast_publisher_malformed_lines_total",
        "Lines of standard input or a serial port that could not be read and were left out.")
}

/// The measurements for health and metrics.
extension SamplingEngine {
    func measure() {
        health.measure(.samplesPublished, core.samplesPublished)
        health.measure(.batches, core.batchesPublished)
        health.measure(.lateness, core.lateness)
        let hasLateness = core.lateness.count > 0
        health.measure(.latenessMaximum, hasLateness ? Nanoseconds.seconds(core.lateness.maximum) : nil)
        for state in [StreamDescription.State.idle, .running, .ended, .stopped, .failed] {
            health.measure(.streams, core.streams.count { $0.state == state }, state.rawValue)
        }
        health.measure(.retained, core.retainedBytes)
        health.measure(.replayed, core.samplesReplayed)
        health.measure(.malformed, core.live?.input.malformedLines ?? 0)
        let pushed = core.pushedMessages
        health.measure(.pushed, pushed.accepted, "accepted")
        health.measure(.pushed, pushed.repeated, "repeated")
        health.measure(.pushed, pushed.refused, "refused")
        health.measure(.dropped, core.datagramsDropped)
        let connections = events.connectionEvents
        health.measure(.connectionsAccepted, Double(connections.accepted))
        health.measure(.connectionsEnded, Double(connections.disconnected))
    }

    var metrics: MetricsPage {
        var page = MetricsPage()
        let now = runtime.monotonic
        for stream in core.streams {
            page.add(.samples, stream.nextSequence, of: stream.name)
            page.add(.behind, Nanoseconds.seconds(stream.behind(at: now)), of: stream.name)
        }
        return page
    }
}
