import Synchronization

/// What happened to the connections of a context's sockets, for the one reader that logs it.
///
/// Bounded: what is not read is added up, and of peers beyond the first few only the number is kept.
package final class ConnectionIncidents: Sendable {
    /// Incidents since the last report.
    package struct Report: Sendable {
        /// How often each happened.
        package fileprivate(set) var counts: [ConnectionIncident: Int] = [:]
        /// How many happened besides.
        package fileprivate(set) var others = 0
    }

    /// Incidents that are told apart in one report.
    private static let maximumDistinct = 16

    private let state = Mutex((totals: [ConnectionIncident.Reason: Int](), report: Report()))
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    package init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// How many there were so far for such reasons.
    package func total(where isCounted: (ConnectionIncident.Reason) -> Bool) -> Int {
        state.withLock { state in state.totals.reduce(0) { isCounted($1.key) ? $0 + $1.value : $0 } }
    }

    /// Hands over each report as soon as it has something to say, until the task is cancelled.
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
