package import Messages
package import Metrics
import Synchronization

/// How a program is, gathered from its parts and told to whoever asks `service.health`; and the one registry of what it
/// counts, which `service.health` and `/metrics` both read.
///
/// Each part reports under keys of its own and takes its report back when things are well again, or says how long it counts.
/// Usable from any thread; nothing here waits or calls out.
package final class Health: Sendable {
    /// How bad something is.
    package enum Severity: Comparable, Sendable {
        /// The program works, and something is wrong.
        case degraded
        /// The program does not do its work.
        case failing
    }

    private struct Reason {
        let severity: Severity
        let sentence: String
        /// The uptime at which it counts no more; nil if it counts until it is taken back.
        let end: Duration?
    }

    private enum Count {
        case number(@Sendable () -> Double)
        /// By the value of the family's label.
        case labelled([String: Double])
        case durations(LatencyHistogram)
    }

    private struct State {
        var reasons: [String: Reason] = [:]
        var counts: [Metric: Count] = [:]
    }

    private let state = Mutex(State())
    private let uptime: @Sendable () -> Duration

    /// A program that is well and has just started.
    package convenience init() {
        let start = ContinuousClock.now
        self.init { .now - start }
    }

    /// A program that is well.
    /// - Parameter uptime: how long the program has been running.
    package init(uptime: @escaping @Sendable () -> Duration) {
        self.uptime = uptime
    }

    /// Reports that something is wrong; a second report under the same key replaces the first.
    /// - Parameters:
    ///   - key: whose report this is: `disk`, `publisher tcp://127.0.0.1:5550`.
    ///   - sentence: what is wrong, with what, and what to do.
    ///   - span: how long it counts if it is not reported again; until it is taken back if nothing is said.
    package func report(_ severity: Severity, _ sentence: String, for key: String, lasting span: Duration? = nil) {
        let end = span.map { uptime() + $0 }
        state.withLock { $0.reasons[key] = Reason(severity: severity, sentence: sentence, end: end) }
    }

    /// Takes a report back; does nothing if there is none.
    package func clear(_ key: String) {
        state.withLock { _ = $0.reasons.removeValue(forKey: key) }
    }

    /// Sets what `service.health`, if it has a name there, and `/metrics` say; nil takes it out.
    package func measure(_ metric: Metric, _ value: Double?) {
        state.withLock { $0.counts[metric] = value.map { value in .number { value } } }
    }

    /// Sets a count; nil takes it out.
    package func measure(_ metric: Metric, _ count: Int?) { measure(metric, count.map(Double.init)) }

    /// Sets a count for one value of the family's only label. There are as many as the program bounds by itself.
    package func measure(_ metric: Metric, _ count: Int, _ label: String) {
        state.withLock { state in
            var values: [String: Double] = [:]
            if case .labelled(let others) = state.counts[metric] { values = others }
            values[label] = Double(count)
            state.counts[metric] = .labelled(values)
        }
    }

    /// Sets durations: `service.health` says their median and 99th percentile once there are any.
    package func measure(_ metric: Metric, _ durations: LatencyHistogram) {
        state.withLock { $0.counts[metric] = .durations(durations) }
    }

    /// Sets something that is counted when somebody asks.
    package func observe(_ metric: Metric, _ value: @escaping @Sendable () -> Double) {
        state.withLock { $0.counts[metric] = .number(value) }
    }

    /// What was set with its metric, in the order of the names.
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

    /// What `service.health` answers now. The worst reasons come first, and within those the order of their keys.
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
