import Synchronization

/// What happened to the connections of a context's sockets, for whoever logs it: one reader.
///
/// Bounded: what is not read is added up, and of peers beyond the first few only the number is kept.
public final class ConnectionIncidents: Sendable {
    /// Incidents since the last report.
    public struct Report: Sendable {
        /// How often each happened.
        public fileprivate(set) var counts: [ConnectionIncident: Int] = [:]
        /// How many happened besides.
        public fileprivate(set) var others = 0
    }

    /// Incidents that are told apart in one report.
    private static let maximumDistinct = 16

    private let state = Mutex((totals: [ConnectionIncident.Reason: Int](), report: Report()))
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// How many there were of each kind so far.
    public var totals: [ConnectionIncident.Reason: Int] { state.withLock { $0.totals } }

    /// Hands over each report as soon as it has something to say, until the task is cancelled.
    public func forEachReport(_ body: (Report) async throws -> Void) async throws {
        for await _ in signals {
            let report = state.withLock { state in
                defer { state.report = Report() }
                return state.report
            }
            if !report.counts.isEmpty || report.others > 0 { try await body(report) }
        }
        throw CancellationError()
    }

    func record(_ incident: ConnectionIncident) {
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
