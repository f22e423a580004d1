/// A program's metrics at one moment: families of metrics with their values.
package struct MetricsPage: Sendable {
    /// The content type of `text`.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private enum Value {
        case number(Double)
        case histogram(HistogramCounts)
    }

    private struct Family {
        let metric: Metric
        var samples: [(labels: [String], value: Value)] = []
    }

    private var families: [Family] = []
    private var indices: [String: Int] = [:]

    package init() {}

    /// Adds a value; a family may have one for each combination of label values.
    /// - Parameter labels: the values of the family's labels, in order.
    package mutating func add(_ metric: Metric, _ value: Double, _ labels: String...) {
        add(metric, .number(value), labels)
    }

    package mutating func add(_ metric: Metric, _ count: Int, _ labels: String...) {
        add(metric, .number(Double(count)), labels)
    }

    package mutating func add(_ metric: Metric, _ counts: HistogramCounts) {
        add(metric, .histogram(counts), [])
    }

    /// Adds all metrics of another page; families of the same name are merged.
    package mutating func add(_ page: MetricsPage) {
        for family in page.families {
            for sample in family.samples { add(family.metric, sample.value, sample.labels) }
        }
    }

    private mutating func add(_ metric: Metric, _ value: Value, _ labels: [String]) {
        precondition(labels.count == metric.labels.count, "\(metric.name) has the labels \(metric.labels)")
        let index = indices[metric.name] ?? families.count
        if index == families.count {
            indices[metric.name] = index
            families.append(Family(metric: metric))
        }
        families[index].samples.append((labels, value))
    }

    /// The page in Prometheus' text format, version 0.0.4
    /// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
    package var text: [UInt8] {
        var text = ""
        for family in families {
            let metric = family.metric
            text += "# HELP \(metric.name) \(Self.escaped(metric.help))\n"
            text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
            for (values, value) in family.samples {
                let labels = zip(metric.labels, values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
                switch value {
                case .number(let number): Self.append(metric.name, labels, number, to: &text)
                case .histogram(let counts): Self.append(counts, of: metric.name, to: &text)
                }
            }
        }
        return Array(text.utf8)
    }

    private static func append(_ counts: HistogramCounts, of name: String, to text: inout String) {
        for bucket in counts.buckets {
            append("\(name)_bucket", ["le=\"\(number(bucket.bound))\""], Double(bucket.count), to: &text)
        }
        append("\(name)_bucket", ["le=\"+Inf\""], Double(counts.count), to: &text)
        append("\(name)_sum", [], counts.sum, to: &text)
        append("\(name)_count", [], Double(counts.count), to: &text)
    }

    private static func append(_ name: String, _ labels: [String], _ value: Double, to text: inout String) {
        text += name
        if !labels.isEmpty { text += "{\(labels.joined(separator: ","))}" }
        text += " \(number(value))\n"
    }

    /// Whole numbers without a fraction; others with all their digits.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool = false) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
