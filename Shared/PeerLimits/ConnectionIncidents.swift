import Synchronization

/// Incidents on the connections of a context's sockets, for the single reader that logs them.
///
/// Bounded: unread incidents are summed up, and beyond the first few kinds only their number is kept.
package final class ConnectionIncidents: Sendable {
    /// Incidents since the previous report.
    package struct Report: Sendable {
        /// The number of each incident.
        package fileprivate(set) var counts: [ConnectionIncident: Int] = [:]
        /// The number of further incidents.
        package fileprivate(set) var others = 0
    }

    /// The maximum number of distinct incidents in a report.
    private static let maximumDistinct = 16

    private let state = Mutex((totals: [ConnectionIncident.Reason: Int](), report: Report()))
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    package init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The number of incidents so far whose reason satisfies the predicate.
    package func total(where isCounted: (ConnectionIncident.Reason) -> Bool) -> Int {
        state.withLock { state in state.totals.reduce(0) { isCounted($1.key) ? $0 + $1.value : $0 } }
    }

    /// Passes on each report as soon as it has incidents, until the task is cancelled.
    package func forEachReport(_ body: (Report) async throws -> Void) async throws {
        for await _ in signals {
            let report = state.withLock { state in
                defer { state.report = Report() }
                return state.report
            }
            if !report.counts.isEmpty || report.others > 0 { try await body(report) }
        }
        throw CancellationError()
    }

    package func record(_ incident: ConnectionIncident) {
        state.withLock { state in
            state.totals[incident.reason, default: 0] += 1
            if state.report.counts[incident] != nil || state.report.counts.count < Self.maximumDistinct {
                state.report.counts[incident, default: 0] += 1
            } else {
                state.report.others += 1
            }
        }
        signal.yield()
    }
}
