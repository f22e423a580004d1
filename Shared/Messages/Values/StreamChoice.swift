/// The streams that a recording takes, and the steps in which it takes them.
///
/// On the wire it is the text `left-wrist/`, or an object `{"stream": "left-wrist/", "fromStep": "walk", "toStep": "turn"}`.
public struct StreamChoice: Hashable, Sendable {
    /// A full name (`phone/accelerometer`), all streams of a device (`left-wrist/`), or all streams (`*`).
    public var stream: String
    /// The step at whose start recording begins; nil for the session's start.
    public var fromStep: String?
    /// The step at whose end recording ends; nil for the session's end.
    public var toStep: String?

    /// Creates a choice.
    public init(_ stream: String, fromStep: String? = nil, toStep: String? = nil) {
        self.stream = stream
        self.fromStep = fromStep
        self.toStep = toStep
    }

    /// Whether the choice is limited to some steps.
    public var hasSteps: Bool { fromStep != nil || toStep != nil }

    /// Parses what a person types: `left-wrist/`, `left-wrist/:walk..turn`, `left-wrist/:walk..`, `left-wrist/:..turn`, or
    /// `left-wrist/:walk` for only that step.
    package init(typed text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(String(parts[0]))
        guard parts.count == 2 else { return }
        guard let dots = parts[1].firstRange(of: "..") else {
            (fromStep, toStep) = (String(parts[1]), String(parts[1]))
            return
        }
        let (from, to) = (parts[1][..<dots.lowerBound], parts[1][dots.upperBound...])
        fromStep = from.isEmpty && !to.isEmpty ? nil : String(from)
        toStep = to.isEmpty ? nil : String(to)
    }
}

extension StreamChoice: Codable {
    private enum CodingKeys: CodingKey {
        case stream, fromStep, toStep
    }

    /// Decodes a text or an object.
    public init(from decoder: any Decoder) throws {
        if let stream = try? String(from: decoder) {
            self.init(stream)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(String.self, forKey: .stream),
            fromStep: try container.decodeIfPresent(String.self, forKey: .fromStep),
            toStep: try container.decodeIfPresent(String.self, forKey: .toStep))
    }

    /// Encodes a text if the choice covers all steps.
    public func encode(to encoder: any Encoder) throws {
        guard hasSteps else { return try stream.encode(to: encoder) }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(stream, forKey: .stream)
        try container.encodeIfPresent(fromStep, forKey: .fromStep)
        try container.encodeIfPresent(toStep, forKey: .toStep)
    }
}
