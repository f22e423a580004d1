/// What a family of metrics is: its name, its type, its labels, and what it says.
///
/// Names follow Prometheus' conventions: `holdfast_<program>_…` (step-counter's `holdfast_steps_…`, for `counter` is a type), base units (seconds, bytes), and `_total` at the end of
/// what only grows. A label never has more values than the program bounds by itself.
package struct Metric: Hashable, Sendable {
    /// How a value behaves.
    package enum Kind: String, Hashable, Sendable {
        /// It only grows, from the program's start.
        case counter
        /// It is as it is now.
        case gauge
        /// How often something took how long.
        case histogram
    }

    /// How its values behave.
    package let kind: Kind
    /// The family's name; empty if only `service.health` has it.
    package let name: String
    /// What it says, in one sentence for a person.
    package let help: String
    /// The names of its labels.
    package let labels: [String]
    /// What `service.health` calls it, which has it too: `behindSeconds`; of a histogram the beginning of the names.
    package let health: String?

    /// A family.
    package init(_ kind: Kind, _ name: String, _ help: String, labels: [String] = [], health: String? = nil) {
        self.kind = kind
        self.name = name
        self.help = help
        self.labels = labels
        self.health = health
    }

    /// What only `service.health` has: `/metrics` has it in parts, or by another name.
    package init(health: String) { self.init(.gauge, "", "", health: health) }
}
