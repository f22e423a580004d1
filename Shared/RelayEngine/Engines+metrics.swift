import MessageBus
import Metrics
import RelayCore
import Runtime
import ServiceKit

extension Metric {
    fileprivate static let streams = Metric(
        .gauge, "holdfast_relay_streams", "Streams that are carried.", health: "streams")
    fileprivate static let taken = Metric(
        .counter, "holdfast_relay_samples_total", "Samples taken from publishers.", health: "samplesTaken")
    fileprivate static let acknowledged = Metric(
        .counter, "holdfast_relay_acknowledged_samples_total", "Samples that the NATS servers acknowledged.",
        health: "samplesAcknowledged")
    fileprivate static let lost = Metric(
        .counter, "holdfast_relay_lost_samples_total", "Samples lost and not recoverable from the publisher.",
        health: "samplesLost")
    fileprivate static let spool = Metric(
        .gauge, "holdfast_relay_spool_bytes", "Bytes on disk that wait for the NATS servers.", health: "spoolBytes")
    fileprivate static let repeats = Metric(
        .counter, "holdfast_relay_repeats_total",
        "Messages that the NATS servers had already when they were sent again.")
    fileprivate static let retries = Metric(
        .counter, "holdfast_relay_retries_total", "Messages that had to be sent again.")
    fileprivate static let connected = Metric(
        .gauge, "holdfast_relay_connected", "1 while a NATS server is connected.")
    fileprivate static let held = Metric(
        .gauge, "holdfast_relay_held_bytes", "Memory of the batches that wait for samples before them.")
    fileprivate static let delay = Metric(
        .histogram, "holdfast_relay_delay_seconds",
        "Time from an event's publication until it is acknowledged with --to, or published here with --from.",
        health: "delay")
    fileprivate static let served = Metric(
        .counter, "holdfast_relay_served_samples_total", "Samples published here.", health: "samplesServed")
    fileprivate static let replayed = Metric(
        .counter, "holdfast_relay_replayed_samples_total", "Samples replayed from NATS.", health: "samplesReplayed")
    fileprivate static let leading = Metric(
        .gauge, "holdfast_relay_leading", "1 while this machine holds the lease.", labels: ["lease"], health: "leading")
    fileprivate static let recording = Metric(
        .gauge, "holdfast_relay_recorder_running", "1 while the recorder runs under the lease.",
        health: "recorderRunning")
    fileprivate static let term = Metric(
        .gauge, "holdfast_relay_lease_term", "Number of the last term known, of this machine or another.",
        health: "leaseTerm")
    fileprivate static let age = Metric(
        .gauge, "holdfast_relay_lease_age_seconds",
        "Time since the last renewal that this machine made, or saw another one make.", health: "leaseAge")
    fileprivate static let sessions = Metric(
        .gauge, "holdfast_relay_lease_sessions", "Sessions that another machine would continue.",
        health: "leaseSessions")
    fileprivate static let leasesTaken = Metric(
        .counter, "holdfast_relay_leases_taken_total", "Times that this machine took the lease.", health: "leasesTaken")
    fileprivate static let leasesLost = Metric(
        .counter, "holdfast_relay_leases_lost_total", "Times that this machine lost the lease while it held it.",
        health: "leasesLost")
    fileprivate static let unreadable = Metric(
        .counter, "holdfast_relay_unreadable_messages_total",
        "Messages of NATS that could not be read, and were dropped.")
}

/// The metrics of the relay.
extension SendingEngine {
    func measure() {
        health.measure(.streams, core.streams.count)
        health.measure(.taken, core.samplesTaken)
        health.measure(.acknowledged, core.samplesAcknowledged)
        health.measure(.lost, core.samplesLost)
        health.measure(.spool, core.spoolBytes)
        health.measure(.repeats, core.repeats)
        health.measure(.retries, core.retries)
        health.measure(.connected, core.isConnected ? 1 : 0)
        health.measure(.held, core.held.bytes)
        health.measure(.delay, core.delays)
    }
}

extension ServingEngine {
    func measure() {
        health.measure(.streams, core.streams.count)
        health.measure(.served, core.samplesSent)
        health.measure(.replayed, core.samplesReplayed)
        health.measure(.unreadable, core.messagesUnreadable)
        health.measure(.connected, core.isConnected ? 1 : 0)
        health.measure(.delay, core.delays)
    }
}

extension LeadEngine {
    func measure() {
        health.measure(.leading, core.isLeading ? 1 : 0, lease)
        health.measure(.recording, core.isRecording ? 1 : 0)
        health.measure(.term, core.lastTerm)
        health.measure(.age, core.renewedAt.map { Double(time - $0) / 1e9 })
        health.measure(.sessions, core.sessions.count)
        health.measure(.leasesTaken, core.taken)
        health.measure(.leasesLost, core.lost)
        health.measure(.connected, core.isConnected ? 1 : 0)
    }
}
