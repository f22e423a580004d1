package import Messages
package import Metrics
import Synchronization

/// A program's health, gathered from its parts for `service.health`. It is also the only registry of the program's counts,
/// which `service.health` and `/metrics` both read.
///
/// Each part reports under keys of its own, and clears its report when the problem is over, or limits how long it counts.
/// Usable from any thread; nothing here waits or calls out.
package final class Health: Sendable {
    package enum Severity: Comparable, Sendable {
        /// The program works in spite of a problem.
        case degraded
        /// The program does not do its work.
        case failing
    }

    private struct Reason {
        let severity: Severity
        let sentence: String
        /// The uptime at which the report expires; nil if it counts until it is cleared.
        let end: Duration?
    }

    private enum Count {
        case number(@Sendable () -> Double)
        /// By the value of the metric's label.
        case labelled([String: Double])
        case durations(LatencyHistogram)
    }

    private struct State {
        var reasons: [String: Reason] = [:]
        var counts: [Metric: Count] = [:]
    }

    private let state = Mutex(State())
    private let uptime: @Sendable () -> Duration

    /// Creates the health of a program that has just started.
    package convenience init() {
        let start = ContinuousClock.now
        self.init { .now - start }
    }

    /// Creates the health of a program without problems.
    /// - Parameter uptime: how long the program has been running.
    package init(uptime: @escaping @Sendable () -> Duration) {
        self.uptime = uptime
    }

    /// Reports a problem; a second report under the same key replaces the first.
    /// - Parameters:
    ///   - key: identifies the report: `disk`, `publisher tcp://127.0.0.1:5550`.
    ///   - sentence: what is wrong, with which value, and what to do.
    ///   - span: how long the report counts unless it is repeated; until it is cleared if nil.
    package func report(_ severity: Severity, _ sentence: String, for key: String, lasting span: Duration? = nil) {
        let end = span.map { uptime() + $0 }
        state.withLock { $0.reasons[key] = Reason(severity: severity, sentence: sentence, end: end) }
    }

    /// Clears a report; does nothing if there is none.
    package func clear(_ key: String) {
        state.withLock { _ = $0.reasons.removeValue(forKey: key) }
    }

    /// Sets a metric's value in `/metrics`, and in `service.health` if it has a name there; nil removes it.
    package func measure(_ metric: Metric, _ value: Double?) {
        state.withLock { $0.counts[metric] = value.map { value in .number { value } } }
    }

    /// Sets a count; nil removes it.
    package func measure(_ metric: Metric, _ count: Int?) { measure(metric, count.map(Double.init)) }

    /// Sets a count for one value of the metric's only label. The program must bound the number of label values.
    package func measure(_ metric: Metric, _ count: Int, _ label: String) {
        state.withLock { state in
            var values: [String: Double] = [:]
            if case .labelled(let others) = state.counts[metric] { values = others }
            values[label] = Double(count)
            state.counts[metric] = .labelled(values)
        }
    }

    /// Sets durations. `service.health` has their median and 99th percentile once there are any.
    package func measure(_ metric: Metric, _ durations: LatencyHistogram) {
        state.withLock { $0.counts[metric] = .durations(durations) }
    }

    /// Sets a value that is computed whenever it is read.
    package func observe(_ metric: Metric, _ value: @escaping @Sendable () -> Double) {
        state.withLock { $0.counts[metric] = .number(value) }
    }

    /// All values with metrics that have a name, ordered by name.
    package var page: MetricsPage {
        var page = MetricsPage()
        let counts = state.withLock { $0.counts }.filter { !$0.key.name.isEmpty }
        for (metric, count) in counts.sorted(by: { $0.key.name < $1.key.name }) {
            switch count {
            case .number(let value): page.add(metric, value())
            case .labelled(let values):
                for (label, value) in values.sorted(by: { $0.key < $1.key }) { page.add(metric, value, label) }
            case .durations(let durations): page.add(metric, durations)
            }
        }
        return page
    }

    /// The current reply to `service.health`. The worst reasons come first, then in the order of their keys.
    package var reply: ServiceHealth.Reply {
        let now = uptime()
        let state = state.withLock { state in
            state.reasons = state.reasons.filter { _, reason in reason.end.map { now < $0 } ?? true }
            return state
        }
        var measures: [String: Double] = [:]
        for (metric, count) in state.counts {
            guard let name = metric.health else { continue }
            switch count {
            case .number(let value): measures[name] = value()
            case .labelled(let values): measures[name] = values.values.reduce(0, +)
            case .durations(let durations) where durations.count > 0:
                measures["\(name)MedianSeconds"] = Double(durations.median) / 1e9
                measures["\(name)99PercentSeconds"] = Double(durations.percentile99) / 1e9
            case .durations: break
            }
        }
        let reasons = state.reasons.sorted { left, right in
            left.value.severity != right.value.severity
                ? left.value.severity > right.value.severity : left.key < right.key
        }
        let status: ServiceHealth.Status =
            switch reasons.first?.value.severity {
            case nil: .ok
            case .degraded: .degraded
            case .failing: .failing
            }
        return ServiceHealth.Reply(
            status: status, reasons: reasons.map(\.value.sentence), uptime: now / .seconds(1),
            version: Version.current, measures: measures.isEmpty ? nil : measures)
    }
}
