/// A family of metrics: its name, type, labels and help text.
///
/// Names follow Prometheus' conventions: `holdfast_<program>_…` (step-counter's `holdfast_steps_…`, because `counter` is a
/// type), base units (seconds, bytes), and `_total` at the end of counters. The program must bound the number of a label's
/// values.
package struct Metric: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// A count that only grows, from the program's start.
        case counter
        /// A current value.
        case gauge
        /// The distribution of durations.
        case histogram
    }

    package let kind: Kind
    /// The family's name; empty if only `service.health` has it.
    package let name: String
    /// A description in one sentence for a person.
    package let help: String
    package let labels: [String]
    /// Its name in `service.health`, if it has one there: `behindSeconds`; for a histogram the prefix of the names.
    package let health: String?

    package init(_ kind: Kind, _ name: String, _ help: String, labels: [String] = [], health: String? = nil) {
        self.kind = kind
        self.name = name
        self.help = help
        self.labels = labels
        self.health = health
    }

    /// Creates a metric that only `service.health` has: `/metrics` has it in parts, or under another name.
    package init(health: String) { self.init(.gauge, "", "", health: health) }
}
