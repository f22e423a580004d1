import Logging
import PeerLimits
import ServiceLifecycle

/// Logs peers that were disconnected or refused, and counts them in health.
struct IncidentLog: Service {
    /// How long incidents are summed up before they are logged again: a flood makes a few lines per interval.
    private static let interval = Duration.seconds(10)

    private let incidents: ConnectionIncidents
    private let logger: Logger

    init(_ incidents: ConnectionIncidents, health: Health, logger: Logger) {
        self.incidents = incidents
        self.logger = logger
        health.observe(.connectionsCut) { Self.count(incidents, cut: true) }
        health.observe(.handshakesFailed) { Self.count(incidents, cut: false) }
    }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await incidents.forEachReport { report in
                    log(report)
                    try await Task.sleep(for: Self.interval)
                }
            }
        } catch is CancellationError {}
    }

    private static func count(_ incidents: ConnectionIncidents, cut: Bool) -> Double {
        Double(incidents.total { $0.isCut == cut })
    }

    private func log(_ report: ConnectionIncidents.Report) {
        for (incident, count) in report.counts.sorted(by: { $0.value > $1.value }) {
            logger.warning(
                incident.reason.isCut ? "connections cut" : "connections refused",
                metadata: [
                    LogKey.peer: "\(incident.peer)", "socket": "\(incident.socket)", "reason": "\(incident.reason)",
                    "count": "\(count)",
                ])
        }
        if report.others > 0 {
            logger.warning("connections of others cut or refused", metadata: ["count": "\(report.others)"])
        }
    }
}
