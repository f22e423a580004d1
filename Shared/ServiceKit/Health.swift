package import Messages
import Synchronization

/// How a program is, gathered from its parts and told to whoever asks `service.health`.
///
/// Each part reports under keys of its own and takes its report back when things are well again. Usable from any
/// thread; nothing here waits or calls out.
package final class Health: Sendable {
    /// How bad something is.
    package enum Severity: Comparable, Sendable {
        /// The program works, and something is wrong.
        case degraded
        /// The program does not do its work.
        case failing
    }

    private struct State {
        var reasons: [String: (severity: Severity, sentence: String)] = [:]
        var measures: [String: Double] = [:]
        var observed: [String: @Sendable () -> Double] = [:]
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
    package func report(_ severity: Severity, _ sentence: String, for key: String) {
        state.withLock { $0.reasons[key] = (severity, sentence) }
    }

    /// Takes a report back; does nothing where there is none.
    package func clear(_ key: String) {
        state.withLock { _ = $0.reasons.removeValue(forKey: key) }
    }

    /// Sets something that the program measures of itself, named with its unit: `latenessMedianSeconds`.
    package func measure(_ name: String, _ value: Double) {
        state.withLock { $0.measures[name] = value }
    }

    /// Sets something that is measured when somebody asks.
    package func observe(_ name: String, _ value: @escaping @Sendable () -> Double) {
        state.withLock { $0.observed[name] = value }
    }

    /// What `service.health` answers now. The worst reasons come first, and within those the order of their keys.
    package var reply: ServiceHealth.Reply {
        var state = state.withLock { $0 }
        for (name, value) in state.observed { state.measures[name] = value() }
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
            status: status, reasons: reasons.map(\.value.sentence), uptime: uptime() / .seconds(1),
            version: Version.current, measures: state.measures.isEmpty ? nil : state.measures)
    }
}
