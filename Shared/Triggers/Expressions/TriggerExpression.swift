import Messages
package import Recording

/// What is waited for, as a person writes it: `left-wrist/accelerometer |a| > 3g`. `TriggerParser` reads it.
package struct TriggerExpression: Hashable, Sendable, CustomStringConvertible {
    /// What is looked at of a stream's samples.
    package enum Quantity: Hashable, Sendable {
        case field(String)
        /// The length of the vector of these fields: of `x`, `y` and `z`, or of what a stream has in their place, if there are none.
        case magnitude([String])
        /// Samples in the last second.
        case rate
    }

    package enum Comparison: String, CaseIterable, Sendable {
        // The longer ones first: the parser tries them in this order.
        case atMost = "<="
        case atLeast = ">="
        case unequal = "!="
        case less = "<"
        case greater = ">"
        case equal = "="

        /// A number that is none is never on the right side of a limit.
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
        /// In the stream's unit if there is none.
        case number(Double, unit: String?)
        case text(String)
    }

    package enum Subject: Hashable, Sendable {
        /// Samples of the streams of a pattern, once they are on the wrong side of a limit for some nanoseconds.
        case samples(of: String, Quantity, Comparison, Limit, lasting: Int64)
        /// No sample of a stream of a pattern for so many nanoseconds.
        case silence(of: String, Int64)
        /// A threshold of log-manager is crossed; nil for all thresholds, and for all logs.
        case threshold(String?, of: LogPattern?)
    }

    /// As it was written.
    package let description: String
    package let subject: Subject

    /// The streams that it is about; nil for an event.
    package var pattern: String? {
        switch subject {
        case .samples(let pattern, _, _, _, _), .silence(let pattern, _): pattern
        case .threshold: nil
        }
    }

    /// Whether it names a single stream, which is expected to have what it asks for.
    var isOfOneStream: Bool { pattern.map { StreamName($0) != nil } ?? false }
}
