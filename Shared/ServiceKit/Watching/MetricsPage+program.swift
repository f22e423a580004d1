import FoundationEssentials
import Glibc
import Messages
package import Metrics
import ZeroMQ

/// The metrics of every program.
extension Metric {
    static let isComplete = Metric(
        .gauge, "holdfast_metrics_complete",
        "1 if the program reported its counts in time; if 0, counts are the last known ones, and those of streams are missing."
    )
    private static let build = Metric(
        .gauge, "holdfast_build_info", "1; the labels name the program and its version.",
        labels: ["program", "version"])
    private static let health = Metric(
        .gauge, "holdfast_health_status", "1 for the status that service.health answers, 0 for the others.",
        labels: ["status"])
    private static let reasons = Metric(
        .gauge, "holdfast_health_reasons", "Number of reasons why the status is not ok.")
    private static let startTime = Metric(
        .gauge, "process_start_time_seconds", "Start time of the program, in seconds since 1970 in UTC.")
    private static let processorTime = Metric(
        .counter, "process_cpu_seconds_total", "Processor time used by the program, in user and kernel mode.")
    private static let residentMemory = Metric(
        .gauge, "process_resident_memory_bytes", "Resident memory of the program.")
    private static let openFiles = Metric(.gauge, "process_open_fds", "File descriptors that are open.")
    private static let maximumFiles = Metric(
        .gauge, "process_max_fds", "File descriptors that may be open at once.")

    private static let socketLabel = ["socket"]
    private static let accepted = Metric(
        .counter, "holdfast_connections_accepted_total", "Connections accepted by the socket.",
        labels: socketLabel)
    private static let connected = Metric(
        .counter, "holdfast_connections_made_total", "Connections made by the socket.",
        labels: socketLabel)
    private static let disconnected = Metric(
        .counter, "holdfast_connections_ended_total", "Connections of the socket that have ended.", labels: socketLabel)
    private static let retried = Metric(
        .counter, "holdfast_connection_retries_total", "Attempts to connect that failed and are retried.",
        labels: socketLabel)
    private static let handshakes = Metric(
        .counter, "holdfast_handshakes_total", "ZeroMQ handshakes that were completed.", labels: socketLabel)
    private static let failedHandshakes = Metric(
        .counter, "holdfast_handshakes_failed_total",
        "Handshakes that failed: not ZeroMQ, another kind of socket, too slow, or refused.", labels: socketLabel)

    fileprivate static func addProgram(
        _ program: Program, health: Health, startedAt: WallTime, to page: inout MetricsPage
    ) {
        let reply = health.reply
        page.add(build, 1, program.rawValue, Version.current)
        for status in [ServiceHealth.Status.ok, .degraded, .failing] {
            page.add(Self.health, status == reply.status ? 1 : 0, status.rawValue)
        }
        page.add(reasons, reply.reasons.count)
        page.add(health.page)
        page.add(startTime, startedAt.seconds)
        page.add(processorTime, ProcessUsage.processorSeconds)
        if let bytes = ProcessUsage.residentBytes { page.add(residentMemory, bytes) }
        if let files = ProcessUsage.openFiles { page.add(openFiles, files) }
        if let files = ProcessUsage.maximumFiles { page.add(maximumFiles, files) }
    }

    fileprivate static func add(_ events: ConnectionEvents, of socket: String, to page: inout MetricsPage) {
        page.add(accepted, events.accepted, socket)
        page.add(connected, events.connected, socket)
        page.add(disconnected, events.disconnected, socket)
        page.add(retried, events.retried, socket)
        page.add(handshakes, events.handshakes, socket)
        page.add(failedHandshakes, events.failedHandshakes, socket)
    }
}

extension MetricsPage {
    /// Creates a page with the metrics of every program: its version, health and use of the machine.
    init(of program: Program, startedAt: WallTime, health: Health) {
        self.init()
        Metric.addProgram(program, health: health, startedAt: startedAt, to: &self)
    }

    /// Adds the connection events of a listener's socket.
    package mutating func add(_ listener: Listener) {
        add(listener.connectionEvents, of: "subscribe")
    }

    /// Adds a socket's connection events.
    /// - Parameter socket: `publish`, `reply`, `subscribe`.
    mutating func add(_ events: ConnectionEvents, of socket: String) {
        Metric.add(events, of: socket, to: &self)
    }

    package mutating func add(_ metric: Metric, _ histogram: LatencyHistogram) {
        add(metric, histogram.counts)
    }
}
