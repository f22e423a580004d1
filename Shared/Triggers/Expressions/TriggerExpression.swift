import Messages
package import Recording

/// A condition to wait for, as a person writes it: `left-wrist/accelerometer |a| > 3g`. `TriggerParser` reads it.
package struct TriggerExpression: Hashable, Sendable, CustomStringConvertible {
    /// The value that is derived from a stream's samples.
    package enum Quantity: Hashable, Sendable {
        case field(String)
        /// The length of the vector of these fields. If there are none, of `x`, `y` and `z`, or of the fields that a stream has
        /// in their place.
        case magnitude([String])
        /// Samples in the last second.
        case rate
    }

    package enum Comparison: String, CaseIterable, Sendable {
        // Longer ones before their prefixes: the parser tries them in this order.
        case atMost = "<="
        case atLeast = ">="
        case unequal = "!="
        case less = "<"
        case greater = ">"
        case equal = "="

        /// NaN never satisfies a comparison.
        func holds(_ value: Double, _ limit: Double) -> Bool {
            switch self {
            case .atMost: value <= limit
            case .atLeast: value >= limit
            case .less: value < limit
            case .greater: value > limit
            case .equal: value == limit
            case .unequal: value != limit && !value.isNaN
            }
        }
    }

    package enum Limit: Hashable, Sendable {
        /// In `unit`; if that is nil, in the stream's unit.
        case number(Double, unit: String?)
        case text(String)
    }

    package enum Subject: Hashable, Sendable {
        /// Samples of the streams that match a pattern satisfy a comparison with a limit for some nanoseconds.
        case samples(of: String, Quantity, Comparison, Limit, lasting: Int64)
        /// A stream that matches a pattern has no sample for some nanoseconds.
        case silence(of: String, Int64)
        /// A threshold of log-manager is crossed; nil for all thresholds, and for all logs.
        case threshold(String?, of: LogPattern?)
    }

    /// The expression as it was written.
    package let description: String
    package let subject: Subject

    /// The pattern of the expression's streams; nil for events of log-manager.
    package var pattern: String? {
        switch subject {
        case .samples(let pattern, _, _, _, _), .silence(let pattern, _): pattern
        case .threshold: nil
        }
    }

    /// Whether the expression names a single stream, which should then have the fields and unit.
    var isOfOneStream: Bool { pattern.map { StreamName($0) != nil } ?? false }
}
